package conf

// filterSpecs holds what is made of an answer on its way out.
func filterSpecs() []Spec {
	specs := []Spec{
		{Name: "expires", Contexts: httpToIf, Min: 1, Max: 2, Usage: "[modified] TIME | @TIME | epoch | max | off", Default: "off", check: read(ReadExpires),
			Doc: "Sets Expires and Cache-Control of answers with the statuses 200, 201, 204, 206, 301, 302, 303, 304, 307 and 308: TIME from now, or with modified from when " +
				"the file was changed last; a time below zero gives no-cache; @TIME is the next such time of the day; epoch is 1970, max is 2037. May hold variables."},
		{Name: "add_trailer", Contexts: httpToIf, Min: 2, Max: 3, Merge: List, Repeat: true, Usage: "NAME VALUE [always]", check: read(ReadAddHeader),
			Doc: "Adds a header line behind the body of an answer, which is sent in chunks then; for the same statuses as add_header. The value may hold variables that are " +
				"known only at the end. All add_trailer directives of a scope replace the inherited ones."},
		{Name: "if_modified_since", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "off | exact | before", Default: "exact", check: oneOf("off", "exact", "before"),
			Doc: "How the time in If-Modified-Since is compared with the time of what is sent: not at all, for equality, or also where it is later."},
		{Name: "etag", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether files are sent with an ETag, made of their time and size."},
		{Name: "max_ranges", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "N", Default: "unlimited", check: checkNumber,
			Doc: "How many ranges of a file one request may ask for; with more the whole file is sent, with 0 always."},
		{Name: "proxy_force_ranges", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether one range is cut out of an upstream's answer of known length for a client that asks for it, whatever the upstream says of ranges."},
		{Name: "chunked_transfer_encoding", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether a body of unknown length is sent in chunks to clients of HTTP/1.1. Without it the end of the connection ends the body."},
		{Name: "keepalive_disable", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Usage: "none | msie6 | safari …", Default: "msie6",
			check: checkBits("none", "msie6", "safari"),
			Doc:   "Which browsers get no kept connections: msie6 after a POST, safari on a Mac always."},
		{Name: "reset_timedout_connection", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether a connection that timed out, or is closed with 444, ends with a reset, so that the system forgets what it still had to send."},
	}
	return append(specs, gzipSpecs()...)
}

// gzipSpecs holds compression.
func gzipSpecs() []Spec {
	return []Spec{
		{Name: "gzip", Contexts: httpToIf, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether answers with the statuses 200, 403 and 404 are compressed for clients that accept gzip. Such an answer has no length and no ranges, and its ETag becomes weak."},
		{Name: "gzip_types", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Usage: "TYPE… | *", Default: "text/html", check: checkTypes,
			Doc: "Which Content-Types are compressed besides text/html; * stands for all."},
		{Name: "gzip_comp_level", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "N", Default: "1", check: numberIn(1, 9),
			Doc: "How hard answers are compressed, from 1 (fast) to 9 (small)."},
		{Name: "gzip_min_length", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "SIZE", Default: "20", check: checkSize,
			Doc: "Answers with a known length below this are not compressed."},
		{Name: "gzip_proxied", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Usage: "off | any | expired | no-cache | no-store | private | no_last_modified | no_etag | auth …",
			Default: "off", check: checkBits("off", "expired", "no-cache", "no-store", "private", "no_last_modified", "no_etag", "auth", "any"),
			Doc: "Which answers to requests that came through a proxy (with a Via) are compressed: none, all, those that have expired, those whose Cache-Control says " +
				"no-cache, no-store or private, those without Last-Modified or ETag, those to a request with Authorization."},
		{Name: "gzip_http_version", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "1.0 | 1.1", Default: "1.1", check: oneOf("1.0", "1.1"),
			Doc: "The lowest version of HTTP whose requests get compressed answers."},
		{Name: "gzip_vary", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether answers that may be compressed, whether they are or not, say Vary: Accept-Encoding."},
		{Name: "gzip_disable", Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Usage: "EXPRESSION… | msie6", check: read(ReadGzipDisable),
			Doc: "Clients whose User-Agent one of these expressions fits get nothing compressed. msie6 stands for Internet Explorer 4 to 6."},
		{Name: "gzip_window", Contexts: httpToLocation, Min: 1, Max: 1, Status: Accepted, check: checkPower("512, 1k, 2k, 4k, 8k, 16k, or 32k"),
			Doc: "compression has a window of 32k"},
		{Name: "gzip_hash", Contexts: httpToLocation, Min: 1, Max: 1, Status: Accepted, check: checkPower("512, 1k, 2k, 4k, 8k, 16k, 32k, 64k, or 128k"),
			Doc: "compression sizes its tables by the level"},
		{Name: "gzip_buffers", Contexts: httpToLocation, Min: 2, Max: 2, Status: Accepted, check: checkBuffers, Doc: "buffers are sized by need"},
		{Name: "gzip_no_buffer", Contexts: httpToLocation, Min: 1, Max: 1, Status: Accepted, check: checkFlag, Doc: "buffers are sized by need"},
		{Name: "postpone_gzipping", Contexts: httpToLocation, Min: 1, Max: 1, Status: Accepted, check: checkSize, Doc: "buffers are sized by need"},
	}
}
