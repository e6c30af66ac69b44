package conf

// proxySpecs holds how requests are passed on.
func proxySpecs() []Spec {
	return []Spec{
		{Name: "proxy_pass", Contexts: Location | IfLocation | LimitExcept, Min: 1, Max: 1, Merge: Handler, Usage: "URL", check: (*checker).checkProxyPass,
			Doc: "Passes requests on to a server: http://HOST[:PORT], http://unix:PATH, or http:// and the name of an upstream block; https:// in the same way over TLS. If URL has a path, it stands " +
				"in place of the location's prefix; otherwise the request's path goes on as it came. URL may hold variables."},
		{Name: "proxy_set_header", Contexts: httpToLocation, Min: 2, Max: 2, Merge: List, Repeat: true, Usage: "NAME VALUE",
			Default: "Host $proxy_host, Connection close",
			Doc: "A header line of the request to the upstream, in place of the client's. VALUE may hold variables; with an empty value the line is not sent. All " +
				"proxy_set_header directives of a scope replace the inherited ones."},
		{Name: "proxy_http_version", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "1.0 | 1.1", Default: "1.0", check: oneOf("1.0", "1.1"),
			Doc: "The HTTP version of requests to the upstream. Connections are kept only with 1.1."},
		{Name: "proxy_connect_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long connecting to the upstream may take. After it the answer is 504."},
		{Name: "proxy_send_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long the upstream may take nothing of a request before the answer is 504."},
		{Name: "proxy_read_timeout", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "60s", check: checkMillis,
			Doc: "How long the upstream may send nothing of an answer. If nothing was sent yet the client gets 504."},
	}
}

// variableSpecs holds what makes variables.
func variableSpecs() []Spec {
	return []Spec{
		{Name: "set", Contexts: rewriteIn, Min: 2, Max: 2, Merge: Own, Repeat: true, Usage: "$NAME VALUE", check: variable(0),
			Doc: "Sets a variable for the rest of the request. VALUE may hold variables. set acts in the order of the file, before limits."},
		{Name: "break", Contexts: rewriteIn, Merge: Own, Repeat: true,
			Doc: "Ends what set and return do in its scope: those behind it in the file don't act. Locations go on with their own."},
		{Name: "map", Contexts: HTTP, Min: 2, Max: 2, Opens: MapBody, Merge: Own, Repeat: true, Usage: "VALUE $NAME", check: variable(1),
			Doc: "A variable whose value depends on another text. Rows are SOURCE RESULT: exact sources without regard to case, expressions after ~ or ~*, " +
				"with hostnames; also names with a wildcard, default for everything else. Results may hold variables. volatile; asks anew each time."},
		{Name: "geo", Contexts: HTTP, Min: 1, Max: 2, Opens: GeoBody, Merge: Own, Repeat: true, Usage: "[$ADDRESS] $NAME", check: geoVariables,
			Doc: "A variable whose value depends on the client's address, or on the address in another variable. Rows are NETWORK VALUE, the longest network " +
				"wins; default for everything else; delete, proxy, proxy_recursive and ranges as in nginx."},
		{Name: "split_clients", Contexts: HTTP, Min: 2, Max: 2, Opens: SplitBody, Merge: Own, Repeat: true, Usage: "VALUE $NAME", check: variable(1),
			Doc: "A variable with one of several values, chosen by a hash (MurmurHash2, as nginx's) of a text: the same text always gets the same. Rows are " +
				"PERCENT% VALUE, with at most two digits behind the point, and \"* VALUE\" for the rest; without it the rest gets the empty value."},
	}
}

// geoVariables checks the one or two variables of a geo block.
func geoVariables(c *checker, d *Directive) {
	for i := range d.Args {
		if !c.variableName(d, i) {
			return
		}
	}
}

// logSpecs holds the logs.
func logSpecs() []Spec {
	return []Spec{
		{Name: "error_log", Contexts: Main | httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Usage: "FILE | stderr | syslog:… [LEVEL]",
			Default: "logs/error.log error", check: read(ReadErrorLog),
			Doc: "Where messages of this level and above go: debug, info, notice, warn, error, crit, alert, emerg. Several logs may be given; those of a " +
				"scope replace the inherited ones. syslog:server=ADDRESS takes facility=, severity=, tag= and nohostname after commas."},
		{Name: "open_log_file_cache", Contexts: httpToLocation, Min: 1, Max: 4, Usage: "off | max=N [inactive=TIME] [min_uses=N] [valid=TIME]", Default: "off",
			check: read(ReadLogCache),
			Doc: "How many access logs whose names hold variables stay open: those with min_uses lines (1) within inactive (10s). After valid (60s) it is " +
				"looked at whether the name still means the same file. When off, such a log is opened for each line."},
		{Name: "access_log", Contexts: httpToIf | LimitExcept, Min: 1, Max: Any, Merge: List, Repeat: true,
			Usage: "off | FILE | syslog:… [FORMAT [buffer=SIZE] [gzip[=LEVEL]] [flush=TIME] [if=VALUE]]", Default: "logs/access.log combined",
			check: (*checker).checkAccessLog,
			Doc: "Writes a line for each request. FORMAT is the name of a log_format above it, combined if none is given. With buffer= lines " +
				"are gathered and written when that much is there, after flush=, or at the end; gzip compresses them (a level from 1 to 9; the buffer is then 64k " +
				"unless it is given). FILE may hold variables: it is then opened for each line, as the user that serves, and only if the request's root " +
				"exists; see open_log_file_cache. With if= a line is written only if VALUE is neither empty nor 0. Several logs may be given; those of a scope replace the inherited ones."},
		{Name: "log_format", Contexts: HTTP, Min: 2, Max: Any, Merge: Own, Repeat: true, Usage: "NAME [escape=default|json|none] TEXT…", check: (*checker).checkLogFormat,
			Doc: "Declares a line of an access log: texts with variables, joined without a gap. escape says how control bytes, quotes and backslashes of " +
				"variables are written. The format combined is there already."},
	}
}
