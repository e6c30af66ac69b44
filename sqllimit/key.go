package sqllimit

import (
	"context"

	"github.com/limitgate/limitgate/internal/admit"
)

// Statement is what is known of a statement before it goes on.
type Statement struct {
	Text     string // "" where a transaction begins
	Class    Class
	Tx       bool // it is in a transaction
	Prepared bool
}

// Key appends to b whom a statement is counted for, and nothing if it is not to be counted. It keeps neither. What it appends may be any
// bytes.
type Key func(ctx context.Context, s Statement, b []byte) []byte

// Or is k, or other for statements that k has no key for: who is not named in a context needs somebody who counts then, or is not
// limited.
func (k Key) Or(other Key) Key {
	return func(ctx context.Context, s Statement, b []byte) []byte {
		if with := k(ctx, s, b); len(with) > len(b) {
			return with
		}
		return other(ctx, s, b)
	}
}

// Everybody counts all statements together.
func Everybody(_ context.Context, _ Statement, b []byte) []byte { return append(b, '*') }

// ByClass counts by the class, so that each has a budget.
func ByClass(_ context.Context, s Statement, b []byte) []byte { return append(b, s.Class.String()...) }

// Each counts by several keys together, such as tenant and class. Different parts never make the same key. A part that is empty is a
// part like any other; without any the statement is not counted.
func Each(parts ...Key) Key {
	return func(ctx context.Context, s Statement, b []byte) []byte {
		start := len(b)
		for _, k := range parts {
			room := admit.Room(b)
			b = admit.Part(room, k(ctx, s, room))
		}
		return admit.Whole(b, start, len(parts))
	}
}
