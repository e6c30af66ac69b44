package conf

// limitSpecs holds the limits.
func limitSpecs() []Spec {
	return []Spec{
		{Name: "limit_req_zone", Contexts: HTTP, Min: 3, Max: 5, Merge: Own, Repeat: true, Usage: "KEY zone=NAME:SIZE rate=RATE [overflow=evict | reject] [store=NAME]",
			check: (*checker).checkReqZone,
			Doc: "Declares a zone that counts requests. KEY is a text with variables; requests whose key is empty are not counted. SIZE is at least 32k; " +
				"count on 24 bytes for each key that is limited at one time. Beyond that number, which the error log names at start (level notice), more than one new key in " +
				"10,000 finds no room: it takes that of the key closest to drained, or with overflow=reject (not in nginx) is refused. RATE is a number with r/s or r/m, and beyond nginx with r/h, r/d or up to six decimals: 10r/s, 30r/m, 0.5r/s. " +
				"Without rate= it is 1r/s. Beyond nginx RATE may hold variables, so that a map gives a rate to each tier of clients: see limit_req. store=NAME (not in nginx) keeps what is counted in a limit_store, " +
				"so that all instances that use the store share the limit; SIZE is then the memory in which each remembers what was last known of a key, for when the store does not answer."},
		{Name: "limit_req", Contexts: httpToLocation, Min: 1, Max: 6, Merge: List, Repeat: true, Usage: "zone=NAME [burst=N] [nodelay | delay=N] [reject_delay=TIME] [fail=open | closed | local] [canary=PERCENT]",
			check: (*checker).checkReq,
			Doc: "Limits requests by a zone. 1 + burst are let in at once: of them those beyond delay= (0 by default) wait until the rate allows them, with nodelay none " +
				"waits; those beyond burst are refused. burst and delay are whole numbers from 1. Several limits act together: any refusal counts for " +
				"none, and the longest wait wins. All limit_req directives of a scope replace the inherited ones. Beyond nginx burst and delay, as rate of the zone, may hold variables; " +
				"burst may then be 0 or empty, delay too, or nodelay. A value that can't be read counts as the strictest: a burst or delay as none, any other refuses the request, " +
				"and the error log tells at most once a second. reject_delay=TIME (not in nginx), from 1ms to 1h, holds refusals of the limit back: who is refused is answered after that time, " +
				"the log line is written at once, and Retry-After counts from the refusal. At most 1,000 refusals of a zone are held at one time, of all kinds and places that use it; those beyond go out at once. " +
				"A client that leaves meanwhile is logged with 499. A refusal that is held takes no place of limit_conn, and in dry run nothing waits. " +
				"fail= (not in nginx) says what the limit does when the store of its zone does not answer: see limit_store. " +
				"canary=PERCENT (not in nginx), from 0% to 100% with up to four decimals and with its sign, enforces the limit for that part of the keys; for the others it is in dry run. " +
				"Which keys these are follows from the name of the zone and the key alone: all instances enforce for the same, and who is enforced stays so while PERCENT grows. " +
				"$limit_canary tells the side of a request: see docs/rollout.md. limit_req_dry_run comes before, and so does a limit_rollout of the zone."},
		{Name: "limit_req_status", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "CODE", Default: "503", check: numberIn(400, 599),
			Doc: "The status of requests that limit_req refuses, from 400 to 599. 429 says what is meant; 503 is the default for nginx's sake."},
		{Name: "limit_req_log_level", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "info | notice | warn | error", Default: "error",
			check: oneOf("info", "notice", "warn", "error"),
			Doc:   "The level at which refusals are logged. Waits are logged one level below."},
		{Name: "limit_req_dry_run", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Only counts, logs and sets $limit_req_status: nothing is refused and nothing waits."},
		{Name: "limit_conn_zone", Contexts: HTTP, Min: 2, Max: 3, Merge: Own, Repeat: true, Usage: "KEY zone=NAME:SIZE [store=NAME]", check: (*checker).checkConnZone,
			Doc: "Declares a zone that counts requests in progress. KEY is a text with variables; requests whose key is empty are not counted. SIZE is at least 32k; " +
				"count on 24 bytes for each key with requests in progress. Such keys are never forgotten: where there is no room left, a new key is refused. store=NAME (not in nginx) is as for limit_req_zone."},
		{Name: "limit_conn", Contexts: httpToLocation, Min: 2, Max: 5, Merge: List, Repeat: true, Usage: "NAME N [fail=open | closed | local] [canary=PERCENT] | NAME adaptive [min=N] [max=N] [canary=PERCENT]", check: (*checker).checkConn,
			Doc: "At most N requests of a key at the same time. A connection counts while it has a request whose header was read; each HTTP/2 stream counts. " +
				"N is a whole number from 1; above 65535 is an extension. All limit_conn directives of a scope replace the inherited ones. fail= and canary= (not in nginx) are as for limit_req. " +
				"With adaptive (not in nginx) the limit finds itself, for each key of the zone, between min= (1) and max= (1000), from how long the backend takes and whether it answers " +
				"with 502, 503 or 504: see docs/middleware/adaptive.md. Of a request that was proxied the time of its backends counts, not that of a slow client. It begins at 20; " +
				"1024 keys of a zone have a limit of their own at one time, and one that was not seen for long begins anew, so let the key name a backend, a server or a tenant, not a client. " +
				"All limits on a key of the zone share what is found, which a reload keeps. Refusals carry Retry-After: 1, their line in the error log tells the limit, as does $limit_conn_limit. A zone with store= can't have it; " +
				"simulate and replay, which measure no backend, take it as max=."},
		{Name: "limit_conn_status", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "CODE", Default: "503", check: numberIn(400, 599),
			Doc: "The status of requests that limit_conn refuses, from 400 to 599."},
		{Name: "limit_conn_log_level", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "info | notice | warn | error", Default: "error",
			check: oneOf("info", "notice", "warn", "error"),
			Doc:   "The level at which refusals are logged."},
		{Name: "limit_conn_dry_run", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Only counts, logs and sets $limit_conn_status: nothing is refused."},
		{Name: "limit_rate", Contexts: httpToIf, Min: 1, Max: 1, Usage: "SIZE", Default: "0", check: unlessVariable(checkSize),
			Doc: "Bytes a second for each answer; 0 means as fast as possible. May hold variables. The bytes are spread evenly, not sent in one piece a second."},
		{Name: "limit_rate_after", Contexts: httpToIf, Min: 1, Max: 1, Usage: "SIZE", Default: "0", check: unlessVariable(checkSize),
			Doc: "How much of an answer is sent before limit_rate begins to act. May hold variables."},
		{Name: "limit_arithmetic", Beyond: true, Contexts: HTTP, Min: 1, Max: 1, Usage: "exact | nginx", Default: "exact", check: oneOf("exact", "nginx"),
			Doc: "How limit_req counts. exact keeps every rate as written: 1r/m is one in 60 seconds. nginx decides bit for bit as nginx " +
				"does, with its rounding of rates to thousandths a second and its clock of milliseconds. What a zone holds is of one " +
				"of the two: to change it in a running process, give the zones other names."},
		{Name: "limit_headers", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 1, Usage: "off | draft | legacy", Default: "off", check: oneOf("off", "draft", "legacy"),
			Doc: "Which header lines tell a client about its limit: draft sends RateLimit and RateLimit-Policy, legacy X-RateLimit-Limit, " +
				"-Remaining and -Reset. Retry-After comes with every refusal that has a time, whatever this says."},
	}
}

// realipSpecs holds who the client is.
func realipSpecs() []Spec {
	return []Spec{
		{Name: "set_real_ip_from", Contexts: httpToLocation, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "ADDRESS | ADDRESS/BITS | HOST | unix:",
			check: read(ReadPeers),
			Doc: "Peers that are trusted to say whom a request comes from. Without any the client is the peer of the connection. All set_real_ip_from " +
				"directives of a scope replace the inherited ones."},
		{Name: "real_ip_header", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "NAME | X-Real-IP | X-Forwarded-For | proxy_protocol", Default: "X-Real-IP",
			Doc: "Where a trusted peer says it: a header line, whose last entry counts, or the PROXY line of the connection. Several X-Forwarded-For lines are one list."},
		{Name: "real_ip_recursive", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether the list is read from the right past all trusted addresses, so that the client is the last one that is not trusted."},
	}
}

// accessSpecs holds who may ask.
func accessSpecs() []Spec {
	const contexts = httpToLocation | LimitExcept
	return []Spec{
		{Name: "allow", Contexts: contexts, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "ADDRESS | ADDRESS/BITS | unix: | all", check: read(ReadRule),
			Doc: "Lets these clients in. The first allow or deny that fits decides; who fits none is let in. All rules of a scope together replace the " +
				"inherited ones. Limits come before: a client that is denied was counted."},
		{Name: "deny", Contexts: contexts, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "ADDRESS | ADDRESS/BITS | unix: | all", check: read(ReadRule),
			Doc: "Answers these clients with 403. See allow for how rules act together."},
		{Name: "satisfy", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "all | any", Default: "all", check: oneOf("all", "any"),
			Doc: "Whether a request must pass allow and deny as well as auth_basic and auth_request, or one of them is enough."},
		{Name: "auth_basic", Contexts: httpToLocation | LimitExcept, Min: 1, Max: 1, Usage: "REALM | off", Default: "off",
			Doc: "Asks for a name and a password by HTTP's Basic scheme, of those in auth_basic_user_file. REALM may hold variables; off asks for none. Limits come before, and so bound " +
				"how often passwords are tried."},
		{Name: "auth_basic_user_file", Contexts: httpToLocation | LimitExcept, Min: 1, Max: 1, Usage: "FILE",
			Doc: "Lines NAME:PASSWORD[:COMMENT] for auth_basic; relative names belong to the folder of the configuration file. FILE may hold variables. Passwords are as htpasswd, " +
				"openssl passwd and mkpasswd write them: $apr1$, $1$, $5$, $6$, $2a$, $2b$, $2y$ (bcrypt), {SHA}, {SSHA}, {PLAIN}, or crypt's thirteen letters."},
		{Name: "auth_request", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "PATH | off", Default: "off",
			Doc: "Asks a location of the server whether a request may go on, by a subrequest: a GET with the head of the request and without its body. 2xx lets it in, 401 and 403 refuse it, " +
				"401 with the WWW-Authenticate of the answer; 429 refuses it with Retry-After and the fields of limits. Any other answer is an error, 500. Limits are asked once a request: " +
				"the location's own only where the request had met none of their kind. Stands behind allow, deny and auth_basic; see satisfy."},
		{Name: "auth_request_set", Contexts: httpToLocation, Min: 2, Max: 2, Merge: List, Repeat: true, Usage: "$VARIABLE TEXT", check: variable(0),
			Doc: "Sets a variable once auth_request was answered, whatever the answer. TEXT may hold variables, which are those of the subrequest, such as $upstream_http_x_user. All " +
				"auth_request_set of a scope replace the inherited ones."},
		{Name: "auth_delay", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "TIME", Default: "0s", check: checkMillis,
			Doc: "How long a request waits for its 401."},
		{Name: "limit_except", Contexts: Location, Min: 1, Max: Any, Opens: LimitExcept, Merge: Own, Usage: "METHOD…", check: read(ReadMethods),
			Doc: "Directives for requests with other methods than these, in place of what the location says; GET includes HEAD. It holds allow, deny, auth_basic, proxy_pass and " +
				"access_log, and inherits all but set, rewrite, return, if and try_files."},
	}
}
