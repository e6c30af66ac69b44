//go:build !portable && !race

#include "textflag.h"

// func CAS(p *Words, o0, o1, n0, n1 uint64) bool
//
// A pair read by LDAXP is of one instant only if the store that follows succeeds. A mismatch may therefore be false when
// somebody else writes at the same time; callers read again after a failure anyway.
TEXT ·CAS(SB), NOSPLIT, $0-41
	MOVD p+0(FP), R0
	MOVD o0+8(FP), R1
	MOVD o1+16(FP), R2
	MOVD n0+24(FP), R3
	MOVD n1+32(FP), R4
again:
	LDAXP (R0), (R5, R6)
	CMP   R1, R5
	BNE   fail
	CMP   R2, R6
	BNE   fail
	STLXP (R3, R4), (R0), R7
	CBNZ  R7, again
	MOVD  $1, R8
	MOVB  R8, ret+40(FP)
	RET
fail:
	CLREX
	MOVB  ZR, ret+40(FP)
	RET
