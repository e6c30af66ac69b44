//go:build !portable && !race

#include "textflag.h"

// func CAS(p *Words, o0, o1, n0, n1 uint64) bool
//
// CMPXCHG16B is not in the baseline of amd64 but in every processor since 2006.
TEXT ·CAS(SB), NOSPLIT, $0-41
	MOVQ p+0(FP), DI
	MOVQ o0+8(FP), AX
	MOVQ o1+16(FP), DX
	MOVQ n0+24(FP), BX
	MOVQ n1+32(FP), CX
	LOCK
	CMPXCHG16B (DI)
	SETEQ ret+40(FP)
	RET
