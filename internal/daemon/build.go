package daemon

import (
	"errors"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// The two functions below join the daemon to what it runs; everything else here knows only interfaces.

type emptyProgram struct{}

func (emptyProgram) Head(*request.Conn) *request.HeadSettings { return nil }
func (emptyProgram) Serve(*request.Request)                   {}
func (emptyProgram) Close() error                             { return nil }

func buildProgram(env *phase.Env, cfg *conf.Config, number func(string) int) (program, []*socketSpec) {
	return emptyProgram{}, nil
}

func openEngine(source edge.Source, o *Options, conns int) (engine, error) {
	return nil, errors.New("no engine yet")
}
