set(ISA_HAZARD_TESTS hazards_small.c test_hazards.c test_hazards_control.c test_hazards_reference.c test_hazards_execute.c)
