glia-asm 1
meta compiler "by hand"
meta flags "--target=trn2 --lnc=1"
meta source "tiny.s"
program tiny target trn2 cores 1
tensor x input f32[128,64]
tensor y output f32[128,64]
core 0 sbuf=256 psum=0
function main formals=0
    slot x = x
    slot y = y
    SP    dma_copy             sbuf:f32(0+128, 0, 1:64), %x:f32(0, 64:128 1:64) queue=0 inc(s0+16)
    ACT   activation           sbuf:f32(0+128, 0, 1:64), sbuf:f32(0+128, 0, 1:64), 1.0 func=exp inc(s1+1)
    SP    dma_copy             %y:f32(0, 64:128 1:64), sbuf:f32(0+128, 0, 1:64) queue=1 wait(s1>=base+1) inc(s2+16)
end
