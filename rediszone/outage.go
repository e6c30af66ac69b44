package rediszone

import (
	"strings"

	"github.com/redis/rueidis"
)

// Outage tells whether an error of a zone means that its store is out of order. One by which a server that is in order says that
// a command was wrong, such as for a key under which something else is kept, does not. It is what guard.Config wants to know.
func Outage(err error) bool {
	said, answered := rueidis.IsRedisErr(err)
	if !answered {
		return err != nil
	}
	text := said.Error()
	return !strings.HasPrefix(text, "WRONGTYPE ") && !strings.HasPrefix(text, "ERR ")
}
