package h1

import "bytes"

// Agent is what nginx wants to know of a client's program by its User-Agent (ngx_http_process_user_agent).
type Agent struct {
	MSIE6  bool // Internet Explorer 4 to 6, without the second service pack
	Safari bool // on a Mac
	Pads   bool // it hides short error pages: MSIE, or Chrome and what poses as it
}

// ReadAgent reads a User-Agent.
func ReadAgent(v []byte) Agent {
	if len(v) == 0 || bytes.Contains(v, []byte("Opera")) {
		return Agent{}
	}
	if i := bytes.Index(v, []byte("MSIE ")); i >= 0 && i+7 < len(v) {
		a := Agent{Pads: true}
		if v[i+6] == '.' {
			switch v[i+5] {
			case '4', '5':
				a.MSIE6 = true
			case '6':
				a.MSIE6 = !bytes.Contains(v[i+8:], []byte("SV1"))
			}
		}
		return a
	}
	switch {
	case bytes.Contains(v, []byte("Gecko/")):
		return Agent{}
	case bytes.Contains(v, []byte("Chrome/")):
		return Agent{Pads: true}
	}
	return Agent{Safari: bytes.Contains(v, []byte("Safari/")) && bytes.Contains(v, []byte("Mac OS X"))}
}
