package rediszone

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
)

// sources are the parts of the scripts.
//
//go:embed lua
var sources embed.FS

// mixed stands, among the forms, for requests by limits of several.
const mixed limitgate.Form = 0

// forms says which parts a script has between the clock and what ends it, by form.
var forms = [...][]string{
	mixed:                 {"word", "pair", "debt", "nginx", "fixed", "sliding", "log", "conn"},
	limitgate.FormDebt:    {"word", "pair", "debt"},
	limitgate.FormNginx:   {"word", "nginx"},
	limitgate.FormFixed:   {"word", "fixed"},
	limitgate.FormSliding: {"word", "sliding"},
	limitgate.FormLog:     {"pair", "log"},
	limitgate.FormConn:    {"conn"},
}

// undoes says the same of the scripts that give back. Places need none, their members are removed.
var undoes = [...][]string{
	limitgate.FormDebt:    {"clock", "word", "pair", "undodebt", "undo"},
	limitgate.FormNginx:   {"clock", "word", "nginx", "undonginx", "undo"},
	limitgate.FormFixed:   {"clock", "word", "fixed", "undofixed", "undo"},
	limitgate.FormSliding: {"clock", "word", "sliding", "undosliding", "undo"},
	limitgate.FormLog:     {"undolog"},
}

// script is one that is known to a server by its hash.
type script struct{ text, sha string }

// scripts are all there are, by form.
type scripts struct {
	decide [len(forms)]script
	undo   [len(undoes)]script
	renew  script // places
}

// newScripts puts the scripts together.
var newScripts = sync.OnceValue(func() *scripts {
	s := new(scripts)
	for f, parts := range forms {
		s.decide[f] = assemble(slices.Concat([]string{"clock"}, parts, []string{"decide"}))
	}
	for f, parts := range undoes {
		s.undo[f] = assemble(parts)
	}
	s.renew = assemble([]string{"renew"})
	return s
})

// assemble joins parts, without what only readers need.
func assemble(parts []string) script {
	var b strings.Builder
	for _, name := range parts {
		text, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic("rediszone: a script is made of a part that is not there: " + name)
		}
		for line := range strings.Lines(string(text)) {
			if code, _, _ := strings.Cut(line, "--"); strings.TrimSpace(code) != "" {
				b.WriteString(strings.TrimSpace(code))
				b.WriteByte('\n')
			}
		}
	}
	sum := sha1.Sum([]byte(b.String()))
	return script{b.String(), hex.EncodeToString(sum[:])}
}

// run has the server run the script. A server that does not know it, because it is new or was told to forget, has not run it
// and is sent the whole text, once. Nothing else is ever sent twice.
func (s *script) run(ctx context.Context, at *Store, keys []string, args ...string) rueidis.RedisResult {
	c, err := at.Client()
	if err != nil {
		return rueidis.NewErrorResult(err)
	}
	r := c.Do(ctx, c.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	if e, ok := rueidis.IsRedisErr(r.Error()); ok && e.IsNoScript() {
		return c.Do(ctx, c.B().Eval().Script(s.text).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	}
	return r
}

// call is a script to run on a key.
type call struct {
	script *script
	key    string
	args   []string
}

// runAll has the server run scripts in one go, and tells in their order which failed. Those that it does not know are sent again, whole.
func runAll(ctx context.Context, at *Store, calls []call) []error {
	errs := make([]error, len(calls))
	c, err := at.Client()
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	cmds := make(rueidis.Commands, len(calls))
	for i, q := range calls {
		cmds[i] = c.B().Evalsha().Sha1(q.script.sha).Numkeys(1).Key(q.key).Arg(q.args...).Build()
	}
	for i, r := range c.DoMulti(ctx, cmds...) {
		errs[i] = r.Error()
		if e, ok := rueidis.IsRedisErr(errs[i]); ok && e.IsNoScript() { // it was not run
			errs[i] = calls[i].script.run(ctx, at, []string{calls[i].key}, calls[i].args...).Error()
		}
	}
	return errs
}
