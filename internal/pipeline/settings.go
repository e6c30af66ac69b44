package pipeline

import (
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/errorlog/logconf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// reader reads plain directives of scopes, with nginx's value where there is none.
type reader struct {
	env  *phase.Env
	mute bool                          // nothing is logged
	logs map[*conf.Scope]*errorlog.Log // by the scope whose error_log it is
}

func (r *reader) duration(s *conf.Scope, name string, otherwise time.Duration) time.Duration {
	if d, found := s.Get(name); found {
		if t, good := d.Duration(r.env.Errors, 0); good {
			return t
		}
	}
	return otherwise
}

func (r *reader) size(s *conf.Scope, name string, otherwise int64) int64 {
	if d, found := s.Get(name); found {
		if n, good := d.Offset(r.env.Errors, 0); good {
			return n
		}
	}
	return otherwise
}

func (r *reader) number(s *conf.Scope, name string, otherwise int64) int64 {
	if d, found := s.Get(name); found {
		if n, good := d.Int(r.env.Errors, 0); good {
			return n
		}
	}
	return otherwise
}

func (r *reader) flag(s *conf.Scope, name string, otherwise bool) bool {
	if d, found := s.Get(name); found {
		if on, good := d.Flag(r.env.Errors); good {
			return on
		}
	}
	return otherwise
}

// word returns the first argument in lower case.
func (r *reader) word(s *conf.Scope, name, otherwise string) string {
	if d, found := s.Get(name); found {
		return strings.ToLower(d.Arg(0))
	}
	return otherwise
}

// settings reads what edges and phases share of a scope.
func (r *reader) settings(s *conf.Scope, serverName string) *request.Settings {
	v4, v6 := r.network(s)
	return &request.Settings{
		ErrorLog:          r.errorLog(s),
		ServerName:        serverName,
		DefaultType:       r.defaultType(s),
		Types:             r.types(s),
		Tokens:            tokens(r.word(s, "server_tokens", "on")),
		SendTimeout:       r.duration(s, "send_timeout", 60*time.Second),
		BodyTimeout:       r.duration(s, "client_body_timeout", 60*time.Second),
		KeepaliveTimeout:  r.duration(s, "keepalive_timeout", 75*time.Second),
		KeepaliveHeader:   r.keepaliveHeader(s),
		KeepaliveRequests: r.number(s, "keepalive_requests", 1000),
		KeepaliveTime:     r.duration(s, "keepalive_time", time.Hour),
		LingeringClose:    lingering(r.word(s, "lingering_close", "on")),
		LingeringTime:     r.duration(s, "lingering_time", 30*time.Second),
		LingeringTimeout:  r.duration(s, "lingering_timeout", 5*time.Second),
		MaxBody:           r.size(s, "client_max_body_size", 1<<20),
		ChunkSize:         int(r.size(s, "http2_chunk_size", 8<<10)),
		NoChunks:          !r.flag(s, "chunked_transfer_encoding", true),
		NoETag:            !r.flag(s, "etag", true),
		NoPadding:         !r.flag(s, "msie_padding", true),
		ResetTimedout:     r.flag(s, "reset_timedout_connection", false),
		KeepaliveDisable:  browsers(s),
		NetworkIPv4:       v4,
		NetworkIPv6:       v6,
		HeaderBuffer:      r.size(s, "client_header_buffer_size", 1<<10),
		BodyBuffer:        r.size(s, "client_body_buffer_size", 8<<10),
		BodyFile:          bodyFile(r.word(s, "client_body_in_file_only", "off")),
		BodyFolder:        r.env.TempFolder(s, "client_body_temp_path", "client_body_temp"),
		Redirects: request.Redirects{
			Relative:   !r.flag(s, "absolute_redirect", true),
			NoPort:     !r.flag(s, "port_in_redirect", true),
			ServerName: r.flag(s, "server_name_in_redirect", false),
		},
		HideMissing: !r.flag(s, "log_not_found", true),
		HideUnset:   !r.flag(s, "uninitialized_variable_warn", true),
	}
}

// browsers reads keepalive_disable.
func browsers(s *conf.Scope) (set request.Browsers) {
	list := s.All("keepalive_disable")
	if len(list) == 0 {
		return request.MSIE6
	}
	for _, d := range list {
		for _, a := range d.Args {
			switch strings.ToLower(a.Text) {
			case "msie6":
				set |= request.MSIE6
			case "safari":
				set |= request.Safari
			}
		}
	}
	return set
}

// network reads how much of an address names a client's network; 0 leaves it as it is without the directive.
func (r *reader) network(s *conf.Scope) (v4, v6 uint8) {
	if d, found := s.Get("limit_client_network"); found {
		if n, good := conf.ReadClientNetwork(d, r.env.Errors); good {
			return uint8(n.IPv4), uint8(n.IPv6)
		}
	}
	return 0, 0
}

// keepaliveHeader reads the second time of keepalive_timeout, which is inherited apart from the first.
func (r *reader) keepaliveHeader(s *conf.Scope) int64 {
	for ; s != nil; s = s.Parent {
		if d := s.Own("keepalive_timeout"); len(d) > 0 && len(d[0].Args) > 1 {
			t, _ := d[0].Seconds(r.env.Errors, 1)
			return int64(t / time.Second)
		}
	}
	return 0
}

// head reads what an edge needs before it knows the server.
func (r *reader) head(s *conf.Scope, o *conf.Listen) *request.HeadSettings {
	h := &request.HeadSettings{
		HeaderTimeout: r.duration(s, "client_header_timeout", 60*time.Second),
		HeaderBuffer:  int(r.size(s, "client_header_buffer_size", 1<<10)),
		LargeBuffers:  4,
		LargeSize:     8 << 10,
		Underscores:   r.flag(s, "underscores_in_headers", false),
		IgnoreInvalid: r.flag(s, "ignore_invalid_headers", true),
		MergeSlashes:  r.flag(s, "merge_slashes", true),
		ProxyProtocol: o.ProxyProtocol,
		ErrorLog:      r.errorLog(s),
		KeepaliveIdle: r.duration(s, "keepalive_timeout", 75*time.Second),

		HTTP2:             o.HTTP2 || r.flag(s, "http2", false),
		MaxStreams:        int(r.number(s, "http2_max_concurrent_streams", 128)),
		Preread:           int(r.size(s, "http2_body_preread_size", 64<<10)),
		SendTimeout:       r.duration(s, "send_timeout", 60*time.Second),
		KeepaliveRequests: r.number(s, "keepalive_requests", 1000),
		KeepaliveTime:     r.duration(s, "keepalive_time", time.Hour),
	}
	if d, found := s.Get("large_client_header_buffers"); found {
		n, good := d.Int(r.env.Errors, 0)
		size, fine := d.Size(r.env.Errors, 1)
		if good && fine {
			h.LargeBuffers, h.LargeSize = int(n), int(size)
		}
	}
	return h
}

func tokens(word string) request.Tokens {
	switch word {
	case "off":
		return request.TokensOff
	case "build":
		return request.TokensBuild
	}
	return request.TokensOn
}

func bodyFile(word string) request.BodyFile {
	switch word {
	case "on":
		return request.BodyFileKept
	case "clean":
		return request.BodyFileClean
	}
	return request.BodyFileIfLarge
}

func lingering(word string) request.Lingering {
	switch word {
	case "off":
		return request.LingerOff
	case "always":
		return request.LingerAlways
	}
	return request.LingerOn
}

func (r *reader) defaultType(s *conf.Scope) []byte {
	if d, found := s.Get("default_type"); found {
		return []byte(d.Arg(0))
	}
	return []byte("text/plain")
}

// types reads the types blocks in force; without any there are nginx's three.
func (r *reader) types(s *conf.Scope) map[string][]byte {
	blocks := s.All("types")
	if len(blocks) == 0 {
		return map[string][]byte{"html": typeHTML, "gif": []byte("image/gif"), "jpg": []byte("image/jpeg")}
	}
	types := map[string][]byte{}
	for _, d := range blocks {
		for _, row := range d.Block.Directives {
			for _, ext := range row.Args {
				types[strings.ToLower(ext.Text)] = []byte(row.Name)
			}
		}
	}
	return types
}

// errorLog returns the log of a scope. What the main scope says is the process's own log.
func (r *reader) errorLog(s *conf.Scope) *errorlog.Log {
	if r.mute {
		return nil
	}
	list := s.All("error_log")
	if len(list) == 0 || list[0].Scope.Kind == conf.Main {
		return r.env.Log
	}
	owner := list[0].Scope
	if log, made := r.logs[owner]; made {
		return log
	}
	log := logconf.Compile(s, r.env.Files, r.env.Errors, r.env.Log)
	r.logs[owner] = log
	return log
}
