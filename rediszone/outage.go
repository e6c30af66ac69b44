package rediszone

import (
	"errors"
	"strings"

	"github.com/redis/rueidis"
)

// Outage tells whether an error of a zone means that its store is out of order. One by which a server that is in order says that
// a command was wrong, such as for a key under which something else is kept, does not. It is what guard.Config wants to know.
func Outage(err error) bool {
	var said *rueidis.RedisError
	if !errors.As(err, &said) {
		return err != nil
	}
	text := said.Error()
	return !strings.HasPrefix(text, "WRONGTYPE ") && !strings.HasPrefix(text, "ERR ")
}
