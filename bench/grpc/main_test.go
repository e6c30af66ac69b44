package main

import (
	"testing"
	"time"
)

// The proof in short, as part of the tests: never more than 10 at work of 50 callers, and each refusal is RESOURCE_EXHAUSTED.
func TestLimitHoldsBeforeGhz(t *testing.T) {
	if err := run(10, 50, 4000, 2*time.Millisecond); err != nil {
		t.Error(err)
	}
}
