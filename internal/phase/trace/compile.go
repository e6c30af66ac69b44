package trace

import (
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/span"
	"github.com/limitgate/limitgate/internal/vars"
)

// Place is what a scope wants of traces.
type Place struct {
	on      *vars.Template // nil: never
	extract bool
	inject  bool
	name    *vars.Template // nil: the location's
	route   []byte         // the location's; none outside of locations
	attrs   []attribute
	sink    span.Sink
	now     func() limitgate.Time
}

// attribute is an otel_span_attr.
type attribute struct {
	name  string
	list  bool
	value *vars.Template
}

// Compile reads what a scope wants. It is never nil: a request may be recorded that ends where nothing is said of it.
func Compile(env *phase.Env, s *conf.Scope) *Place {
	p := &Place{sink: env.Spans, now: env.Now}
	if l := s.Enclosing(conf.Location); l != nil && l.Place != nil {
		p.route = []byte(l.Place.Pattern)
	}
	if d, found := s.Get("otel_trace"); found && d.Arg(0) != "off" {
		p.on = env.Vars.CompileWord(d.Args[0], env.Errors)
		if http := s.Enclosing(conf.HTTP); d.Scope == s && len(http.Own("otel_exporter")) == 0 {
			env.Errors.Note(d.Pos, `"otel_trace" records nothing without "otel_exporter"`, "say in the http block where spans go: otel_exporter { endpoint localhost:4317; }")
		}
	}
	if d, found := s.Get("otel_trace_context"); found {
		word := strings.ToLower(d.Arg(0))
		p.extract = word == "extract" || word == "propagate"
		p.inject = word == "inject" || word == "propagate"
	}
	if d, found := s.Get("otel_span_name"); found {
		p.name = env.Vars.CompileWord(d.Args[0], env.Errors)
	}
	for _, d := range s.All("otel_span_attr") {
		name := d.Arg(0)
		value := env.Vars.CompileWord(d.Args[1], env.Errors)
		if value == nil {
			continue
		}
		list := strings.HasPrefix(name, "http.request.header.") || strings.HasPrefix(name, "http.response.header.")
		p.attrs = append(p.attrs, attribute{name, list, value})
	}
	return p
}

// Extracts tells whether a traceparent of the client counts.
func (p *Place) Extracts() bool { return p.extract }

// Acts tells whether the phase has anything to do.
func (p *Place) Acts() bool { return p.on != nil || p.extract || p.inject }
