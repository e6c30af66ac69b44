package match

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Names finds the server of a host among those that listen on one address.
type Names struct {
	fallback int
	exact    map[string]int
	heads    map[string]int // *.NAME, by NAME
	tails    map[string]int // NAME.*, by NAME
	regexps  []nameRegexp   // in the order of the file
}

type nameRegexp struct {
	regexp *vars.Regexp
	server int
}

// Find returns the index of the server that r.Host names, or of the default server.
func (n *Names) Find(r *request.Request) int {
	if s, found := n.Named(r); found {
		return s
	}
	return n.fallback
}

// Named returns the index of the server that r.Host names, where one does.
func (n *Names) Named(r *request.Request) (server int, found bool) {
	if s, found := n.exact[string(r.Host)]; found {
		return s, true
	}
	if len(r.Host) == 0 {
		return 0, false
	}
	if len(n.heads) > 0 {
		if s, found := n.head(r.Host); found {
			return s, true
		}
	}
	if len(n.tails) > 0 {
		if s, found := n.tail(r.Host); found {
			return s, true
		}
	}
	for i := range n.regexps {
		if n.regexps[i].regexp.Match(r, r.Host) {
			return n.regexps[i].server, true
		}
	}
	return 0, false
}

// head looks for *.NAME, the longest name first.
func (n *Names) head(host []byte) (int, bool) {
	for {
		dot := bytes.IndexByte(host, '.')
		if dot < 0 {
			return 0, false
		}
		host = host[dot+1:]
		if s, found := n.heads[string(host)]; found {
			return s, true
		}
	}
}

// tail looks for NAME.*, the longest name first.
func (n *Names) tail(host []byte) (int, bool) {
	for {
		dot := bytes.LastIndexByte(host, '.')
		if dot < 0 {
			return 0, false
		}
		host = host[:dot]
		if s, found := n.tails[string(host)]; found {
			return s, true
		}
	}
}
