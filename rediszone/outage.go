package rediszone

import (
	"errors"
	"strings"

	"github.com/redis/rueidis"
)

// Outage tells whether an error of a zone means that its store is out of order. One by which a server that is in order says that
// a command was wrong, such as for a key under which something else is kept, or one that its user may not run, does not. It is what
// guard.Config wants to know.
func Outage(err error) bool {
	var said *rueidis.RedisError
	var out *unconnected
	if errors.As(err, &out) || !errors.As(err, &said) {
		return err != nil
	}
	text := said.Error()
	if _, within, found := strings.Cut(text, ": -"); found { // a server of version 6 tells so what it told a script
		text = within
	}
	code, _, _ := strings.Cut(text, " ")
	return code != "WRONGTYPE" && code != "NOPERM" && code != "CROSSSLOT" && coded(code)
}

// coded tells whether the first word of what a server says is a code, such as LOADING or READONLY. What is wrong with a command
// has the code ERR, which the client has taken away.
func coded(word string) bool {
	for i := range len(word) {
		if word[i] < 'A' || word[i] > 'Z' {
			return false
		}
	}
	return len(word) > 1 && word != "ERR"
}

// unconnected is why there is no connection, whatever a server said to who wanted one.
type unconnected struct{ err error }

func (u *unconnected) Error() string { return u.err.Error() }
func (u *unconnected) Unwrap() error { return u.err }
