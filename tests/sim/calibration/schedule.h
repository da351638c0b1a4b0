// SPDX-License-Identifier: Apache-2.0
// Writes tile programs the way the published kernels read: instructions in program order on tiles, without a word about
// semaphores. The helper finds which earlier instruction of another lane each one has to wait for (read after write,
// write after read, write after write, by 64-byte granules of a partition) and adds the waits. Straight-line programs
// only. It is a test's tool, simple and exact; the compiler has its own scheduler.
#ifndef GLIA_TESTS_SIM_SCHEDULE_H
#define GLIA_TESTS_SIM_SCHEDULE_H

#include "hw/hw.h"
#include "isa/build.h"

typedef struct sched_tile {         // [partitions, bytes] on chip
    isa_space space;
    num_dtype dtype;
    int start, partitions;
    int64_t offset;
    int free;                       // elements
} sched_tile;

typedef struct schedule schedule;
schedule *schedule_create(const hw_chip *chip, const char *name);
isa_program *schedule_take(schedule *s);                // the program; the schedule is freed

uint32_t schedule_tensor(schedule *s, const char *name, isa_tensor_kind kind, num_dtype dtype, int64_t rows, int64_t columns);
// SBUF that is never given back. Aborts when it does not fit: the kernels decide beforehand with schedule_room.
sched_tile schedule_sbuf(schedule *s, num_dtype dtype, int partitions, int free);
int64_t schedule_room(const schedule *s);               // bytes of a partition left
sched_tile schedule_bank(schedule *s, int partitions, int free);    // fp32, the next of the eight PSUM banks in turn

sched_tile tile_part(sched_tile t, int start, int partitions);      // some of its partitions
sched_tile tile_columns(sched_tile t, int first, int free);         // some of its columns

// Rows of `t` from or to [row.., column..] of an HBM tensor.
void schedule_load(schedule *s, uint8_t queue, sched_tile t, uint32_t tensor, int64_t row, int64_t column);
void schedule_store(schedule *s, uint8_t queue, sched_tile t, uint32_t tensor, int64_t row, int64_t column);
void schedule_matmul(schedule *s, sched_tile dst, sched_tile stationary, sched_tile moving, bool accumulate);
void schedule_transpose(schedule *s, sched_tile dst, sched_tile data, sched_tile identity);
void schedule_activation(schedule *s, isa_act func, float scale, sched_tile dst, sched_tile data);
void schedule_copy(schedule *s, isa_engine engine, sched_tile dst, sched_tile data);    // ACT on generation 2: by activation
void schedule_add_one(schedule *s, sched_tile dst, sched_tile data);
void schedule_reciprocal(schedule *s, sched_tile dst, sched_tile data);
void schedule_tensor_tensor(schedule *s, isa_alu op, sched_tile dst, sched_tile a, sched_tile b);
void schedule_zero(schedule *s, sched_tile dst);

#endif
