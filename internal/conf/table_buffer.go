package conf

// bufferSpecs holds where bodies are kept on their way: in memory, and beyond that in temporary files.
func bufferSpecs() []Spec {
	return []Spec{
		{Name: "client_body_buffer_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "8k", check: checkSize,
			Doc: "How much of a request body is kept in memory before it is sent on. A body that is more than a quarter larger goes to a file below client_body_temp_path."},
		{Name: "client_body_in_file_only", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off | clean", Default: "off", check: oneOf("off", "on", "clean"),
			Doc: "Whether every request body goes to a file, even a small one, whose name is $request_body_file. With on the file stays, with clean it " +
				"is removed when the request is over."},
		{Name: "client_body_in_single_buffer", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", Status: Accepted, check: checkFlag,
			Doc: "a request body in memory is always in one piece"},
		{Name: "client_body_temp_path", Contexts: httpToLocation, Min: 1, Max: 4, Usage: "FOLDER [LEVEL [LEVEL [LEVEL]]]", Default: "client_body_temp", check: checkLevels,
			Doc: "Where request bodies go that don't fit into memory. It is made at the start, for the user that serves. Levels are the lengths of the names " +
				"of folders below it; relative names belong to the prefix."},
		{Name: "proxy_request_buffering", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether a request body is read to its end before the upstream is asked. With off it is sent on as it comes; a body in chunks needs proxy_http_version " +
				"1.1 for that. What is sent on as it comes can't be sent to another server of the group."},
		{Name: "proxy_buffering", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether an answer is read as fast as the upstream sends it, and kept in proxy_buffers and then in a file below proxy_temp_path while the client takes its time. " +
				"With off no more is read than the client takes, proxy_buffer_size at a time. The upstream's X-Accel-Buffering: yes or no wins."},
		{Name: "proxy_buffer_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "4k", check: checkSize,
			Doc: "How long the header of an upstream's answer may be. A longer one is answered with 502."},
		{Name: "proxy_buffers", Contexts: httpToLocation, Min: 2, Max: 2, Usage: "NUMBER SIZE", Default: "8 4k", check: checkBuffers,
			Doc: "How much of an answer that the client has not taken yet is kept in memory."},
		{Name: "proxy_busy_buffers_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "twice one buffer", check: checkSize,
			Doc: "How much of an answer that waits in memory or in a file is handed to the client at a time."},
		{Name: "proxy_max_temp_file_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "1024m", check: checkSize,
			Doc: "How large the file of one answer may grow. When it is full the upstream waits for the client. 0 means no file."},
		{Name: "proxy_temp_file_write_size", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "twice one buffer", check: checkSize,
			Doc: "How much of an answer is written to its file at a time."},
		{Name: "proxy_limit_rate", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "BYTES", Default: "0", check: unlessVariable(checkSize),
			Doc: "How many bytes a second are read of an upstream's answer, evenly; 0 means as many as come. May hold variables. It needs proxy_buffering."},
		{Name: "proxy_ignore_client_abort", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether the upstream's answer is waited for even if the client has left. Otherwise the connection to the upstream is closed at once."},
		{Name: "proxy_temp_path", Contexts: httpToLocation, Min: 1, Max: 4, Usage: "FOLDER [LEVEL [LEVEL [LEVEL]]]", Default: "proxy_temp 1 2", check: checkLevels,
			Doc: "Where answers go that don't fit into memory, as client_body_temp_path for request bodies."},
	}
}

// ProxyBuffers says how an answer of an upstream is kept: the proxy_buffer directives in force in a scope.
type ProxyBuffers struct {
	Head      int64 // proxy_buffer_size
	Number    int64 // proxy_buffers
	Size      int64
	Busy      int64 // proxy_busy_buffers_size
	FileMax   int64 // proxy_max_temp_file_size
	FileWrite int64 // proxy_temp_file_write_size
}

// page is what nginx's sizes of buffers begin with.
const page = 4096

// ReadProxyBuffers returns what is in force in a scope. What can't be read is a fault that is reported elsewhere, and counts
// as not given.
func ReadProxyBuffers(s *Scope) ProxyBuffers {
	b := ProxyBuffers{Head: page, Number: 8, Size: page, FileMax: 1 << 30}
	size := func(name string, to *int64) bool {
		d, found := s.Get(name)
		if !found {
			return false
		}
		n, good := ParseSize(d.Arg(0))
		if good {
			*to = n
		}
		return good
	}
	size("proxy_buffer_size", &b.Head)
	if d, found := s.Get("proxy_buffers"); found {
		n, good := ParseInt(d.Arg(0))
		each, fine := ParseSize(d.Arg(1))
		if good && fine {
			b.Number, b.Size = n, each
		}
	}
	largest := max(b.Head, b.Size)
	if !size("proxy_busy_buffers_size", &b.Busy) {
		b.Busy = 2 * largest
	}
	if !size("proxy_temp_file_write_size", &b.FileWrite) {
		b.FileWrite = 2 * largest
	}
	size("proxy_max_temp_file_size", &b.FileMax)
	return b
}

// fault is nginx's word for sizes that don't go together (ngx_http_proxy_merge_loc_conf), and what would be right.
func (b *ProxyBuffers) fault() (msg, help string) {
	const least = `the maximum of the value of "proxy_buffer_size" and one of the "proxy_buffers"`
	largest := max(b.Head, b.Size)
	switch {
	case b.Number < 2:
		return `there must be at least 2 "proxy_buffers"`, "write a number and a size, for example 8 4k"
	case b.Busy < largest:
		return `"proxy_busy_buffers_size" must be equal to or greater than ` + least, ""
	case b.Busy > (b.Number-1)*b.Size:
		return `"proxy_busy_buffers_size" must be less than the size of all "proxy_buffers" minus one buffer`,
			"without proxy_busy_buffers_size it is twice the larger of proxy_buffer_size and one buffer: raise proxy_buffers too"
	case b.FileWrite < largest:
		return `"proxy_temp_file_write_size" must be equal to or greater than ` + least, ""
	case b.FileMax != 0 && b.FileMax < largest:
		return `"proxy_max_temp_file_size" must be equal to zero to disable temporary files usage or must be equal to or greater than ` + least, ""
	}
	return "", ""
}

// proxyBuffers reports sizes of buffers that don't go together. nginx finds them where it merges scopes, at the end of http.
func (c *checker) proxyBuffers(http *Directive) {
	http.Block.Walk(func(s *Scope) {
		if s.Kind&(Server|Location|IfLocation|LimitExcept) == 0 {
			return
		}
		b := ReadProxyBuffers(s)
		if msg, help := b.fault(); msg != "" {
			c.errs.Late(AtHTTPEnd, http.Close, msg, help)
		}
	})
}
