package conf

import (
	"path/filepath"
	"slices"
	"strings"
)

// acceptedRow is some directives that are taken and do nothing.
type acceptedRow struct {
	names    []string
	contexts Context
	min, max int
	check    check
	status   Status
	why      string
}

// acceptedSpecs holds what tunes the inside of nginx and has nothing to tune here.
func acceptedSpecs() []Spec {
	rows := []acceptedRow{
		{[]string{"sendfile"}, httpToIf, 1, 1, checkFlag, Accepted, "the system decides how files are sent"},
		{[]string{"tcp_nopush", "tcp_nodelay"}, httpToLocation, 1, 1, checkFlag, Accepted, "answers are sent without delay and in full segments where possible"},
		{[]string{"aio"}, httpToLocation, 1, 1, nil, Accepted, "files are read without blocking other requests"},
		{[]string{"aio_write", "open_file_cache_errors", "open_file_cache_events"}, httpToLocation, 1, 1, checkFlag, Accepted, "files are read without blocking other requests"},
		{[]string{"directio"}, httpToLocation, 1, 1, checkDirectio, Accepted, "files go through the system's cache"},
		{[]string{"directio_alignment"}, httpToLocation, 1, 1, checkOffset, Accepted, "files go through the system's cache"},
		{[]string{"sendfile_max_chunk", "send_lowat", "postpone_output", "read_ahead"}, httpToLocation, 1, 1, checkSize, Accepted, "buffers are sized by need"},
		{[]string{"proxy_send_lowat"}, httpToLocation, 1, 1, checkSize, Accepted, "the system decides when a request is sent on"},
		{[]string{"connection_pool_size", "request_pool_size"}, httpToServer, 1, 1, checkSize, Accepted, "memory is managed by the run time"},
		{[]string{"output_buffers"}, httpToLocation, 2, 2, checkBuffers, Accepted, "buffers are sized by need"},
		{[]string{"open_file_cache"}, httpToLocation, 1, 2, checkFileCache, Accepted, "files are opened for each request"},
		{[]string{"open_file_cache_min_uses"}, httpToLocation, 1, 1, checkNumber, Accepted, "files are opened for each request"},
		{[]string{"open_file_cache_valid"}, httpToLocation, 1, 1, checkSeconds, Accepted, "files are opened for each request"},
		{[]string{"fastcgi_temp_path", "uwsgi_temp_path", "scgi_temp_path"}, httpToLocation, 1, 4, checkLevels, Accepted, "no temporary files are written there"},
		{[]string{"use"}, Events, 1, 1, checkUse, Accepted, "the run time chooses how to wait for events"},
		{[]string{"multi_accept", "accept_mutex"}, Events, 1, 1, checkFlag, Accepted, "one process accepts all connections"},
		{[]string{"accept_mutex_delay"}, Events, 1, 1, checkMillis, Accepted, "one process accepts all connections"},
		{[]string{"worker_aio_requests", "epoll_events"}, Events, 1, 1, checkNumber, Accepted, "the run time chooses how to wait for events"},
		{[]string{"debug_connection"}, Events, 1, 1, nil, Accepted, "use error_log with the level debug"},
		{[]string{"worker_priority"}, Main, 1, 1, checkNumber, Accepted, "set it where the process is started"},
		{[]string{"worker_rlimit_core"}, Main, 1, 1, checkOffset, Accepted, "set it where the process is started"},
		{[]string{"worker_cpu_affinity"}, Main, 1, Any, nil, Accepted, "the system places the threads"},
		{[]string{"working_directory", "lock_file", "debug_points", "ssl_engine"}, Main, 1, 1, nil, Accepted, "there is nothing of the kind here"},
		{[]string{"timer_resolution"}, Main, 1, 1, checkMillis, Accepted, "the clock is read for each request"},
		{[]string{"env"}, Main, 1, 1, nil, Accepted, "the environment stays as it is"},
		{[]string{"thread_pool"}, Main, 2, 3, nil, Accepted, "the run time manages threads"},
		{[]string{"pcre_jit"}, Main, 1, 1, checkFlag, Accepted, "expressions are RE2"},
		{[]string{"load_module"}, Main, 1, 1, checkModule, Accepted, "what there is of nginx's modules is built in; a directive of one that is not is an error of its own"},
		{[]string{"server_names_hash_max_size", "server_names_hash_bucket_size", "map_hash_max_size", "map_hash_bucket_size",
			"variables_hash_max_size", "variables_hash_bucket_size"}, HTTP, 1, 1, checkNumber, Silent, "tables grow with what they hold"},
		{[]string{"types_hash_max_size", "types_hash_bucket_size", "proxy_headers_hash_max_size", "proxy_headers_hash_bucket_size"},
			httpToLocation, 1, 1, checkNumber, Silent, "tables grow with what they hold"},
	}
	var specs []Spec
	for _, r := range slices.Concat(rows, sslAcceptedRows(), http2AcceptedRows()) {
		for _, name := range r.names {
			s := Spec{Name: name, Contexts: r.contexts, Min: r.min, Max: r.max, Status: r.status, Doc: r.why, check: r.check}
			s.Repeat = name == "http2_push" || name == "load_module" || name == "env" || name == "debug_connection" || name == "thread_pool"
			specs = append(specs, s)
		}
	}
	return specs
}

// checkModule tells nginx's own modules, of which a configuration may load what it likes, from those of others, without which
// it would be another one.
func checkModule(c *checker, d *Directive) {
	own := []string{"ngx_stream_module", "ngx_mail_module", "ngx_http_geoip_module", "ngx_stream_geoip_module", "ngx_http_image_filter_module",
		"ngx_http_perl_module", "ngx_http_xslt_filter_module", "ngx_stream_js_module", "ngx_http_js_module", "ngx_otel_module"}
	name := strings.TrimSuffix(filepath.Base(d.Arg(0)), ".so")
	if !slices.Contains(own, name) {
		c.errs.Add(d.Pos, `module "`+d.Arg(0)+`" cannot be loaded`, "limitgate is one program and loads no modules; remove the line and what it was for")
	}
}

func checkDirectio(c *checker, d *Directive) {
	if d.Arg(0) != "off" {
		checkOffset(c, d)
	}
}

func checkUse(c *checker, d *Directive) {
	methods := []string{"select", "poll", "epoll", "kqueue", "/dev/poll", "eventport"}
	if !slices.Contains(methods, d.Arg(0)) {
		c.errs.Add(d.At(0), `invalid event type "`+d.Arg(0)+`"`, "it is one of: "+strings.Join(methods, ", "))
	}
}

// checkFileCache checks open_file_cache (ngx_http_core_open_file_cache).
func checkFileCache(c *checker, d *Directive) {
	most := int64(0)
	for _, a := range d.Args {
		good := a.Text == "off"
		if n, found := strings.CutPrefix(a.Text, "max="); found {
			most, good = ParseInt(n)
			good = good && most > 0
		} else if t, found := strings.CutPrefix(a.Text, "inactive="); found {
			_, good = ParseSeconds(t)
		}
		if !good {
			c.errs.Add(a.Pos, `invalid "open_file_cache" parameter "`+a.Text+`"`, "write max=N [inactive=TIME] or off")
			return
		}
	}
	if most == 0 && d.Arg(0) != "off" {
		c.errs.Add(d.Pos, `"open_file_cache" must have the "max" parameter`, "")
	}
}
