"""What a program's text says about the alignment of its accesses."""

import pytest

from benchmarks.kernels.ptx import Access, accesses

# Each thread reads 16 bytes of one of 64 rows: keys + row * stride + 16 * (thread % 8).
PROGRAM = """
	ld.param.b64 	%rd1, [attend_param_0];
	ld.param.b32 	%r1, [attend_param_1];
	mov.u32 	%r2, %tid.x;
	shl.b32 	%r3, %r2, 4;
	and.b32  	%r4, %r3, 112;
	shr.u32 	%r5, %r2, 3;
	mad.lo.s32 	%r6, %r5, %r1, %r4;
	sub.s32 	%r10, %r6, 64;
	min.u32 	%r11, %r6, %r10;
	selp.b32 	%r12, %r11, %r6, %p2;
	cvt.s64.s32 	%rd2, %r12;
	add.s64 	%rd3, %rd1, %rd2;
$L__BB0_1:
	// begin inline asm
	cp.async.cg.shared.global [ %r7 + 0 ], [ %rd3 + 0 ], 0x10, %r8;
	// end inline asm
	add.s64 	%rd3, %rd3, STEP;
	ld.shared.b32 	%r9, [%r7];
	mov.b32 	{%rs1, %rs2}, %r9;
	@%p1 bra 	$L__BB0_1;
	st.global.v2.b32 	[ %rd1 + 4 ], { %r9, %r9 };
	ret;
"""


@pytest.mark.parametrize(
    ("zeros", "step", "alignment"),
    [([4, 4], 64, 16), ([4, 1], 64, 2), ([4, 4], 8, 8), ([0, 4], 64, 1)],
    ids=["aligned", "odd rows", "odd steps", "odd start"],
)
def test_an_access_is_as_aligned_as_all_that_its_address_is_made_of(
    zeros: list[int], step: int, alignment: int
) -> None:
    load, store = accesses(PROGRAM.replace("STEP", str(step)), zeros)
    assert load == Access(is_load=True, nbytes=16, alignment=alignment)
    assert store == Access(is_load=False, nbytes=8, alignment=min(4, 1 << zeros[0]))


@pytest.mark.parametrize(("choice", "alignment"), [("%rd1, %rd2, %p1", 2), ("%rd1, %rd1, %p1", 16)])
def test_an_address_that_is_one_of_two_is_as_aligned_as_the_worse(choice: str, alignment: int) -> None:
    program = PROGRAM.replace("add.s64 \t%rd3, %rd1, %rd2;", f"selp.b64 \t%rd3, {choice};").replace("STEP", "64")
    assert accesses(program, [4, 1])[0].alignment == alignment


@pytest.mark.parametrize(("step", "alignment"), [(64, 16), (8, 8)])
def test_an_address_from_shared_memory_is_as_aligned_as_those_that_were_written_there(
    step: int, alignment: int
) -> None:
    exchange = """st.shared.v2.b64 	[ %r7 + 0 ], { %rd3, %rd3 };
	ld.shared.b64 	%rd4, [%r7];
	st.global.b64 [ %rd4 + 0 ], { %rd2 };
	mov.b32 	{%rs1, %rs2}, %r9;"""
    program = PROGRAM.replace("mov.b32 \t{%rs1, %rs2}, %r9;", exchange)
    assert accesses(program.replace("STEP", str(step)), [4, 4])[1].alignment == alignment
