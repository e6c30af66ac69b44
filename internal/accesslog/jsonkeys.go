package accesslog

import "strings"

// caddyKey is what the value at a path of Caddy's access log means.
func caddyKey(path string) column {
	c := column{name: path}
	switch path {
	case "ts":
		c.to, c.end, c.name = toAnyTime, true, "msec"
	case "request.remote_addr": // before 2.5
		c.to, c.name = toAddrPort, "remote_addr"
	case "request.remote_ip":
		c.to, c.name, c.also = toAddr, "remote_addr", "realip_remote_addr"
	case "request.client_ip":
		c.to, c.name, c.rank = toAddr, "remote_addr", 1
	case "request.remote_port":
		c.to, c.name = toPort, "remote_port"
	case "request.proto":
		c.to, c.name = toProtocol, "server_protocol"
	case "request.method":
		c.to, c.name = toMethod, "request_method"
	case "request.host":
		c.to, c.name = toHost, "http_host"
	case "request.uri":
		c.to, c.name = toURI, "request_uri"
	case "request.tls.server_name":
		c.name = "ssl_server_name"
	case "duration":
		c.to, c.name, c.unit = toDuration, "request_time", second
	case "size":
		c.to, c.name = toBody, "body_bytes_sent"
	case "status":
		c.to = toStatus
	case "user_id":
		c.to, c.name = toUser, "remote_user"
	case "level", "logger", "msg", "common_log":
		c.to = toNothing
	default:
		if h, ok := strings.CutPrefix(path, "request.headers."); ok {
			return headerColumn(h)
		}
		if h, ok := strings.CutPrefix(path, "resp_headers."); ok {
			c.name = "sent_http_" + variable(h)
		}
	}
	return c
}

// traefikKey is what the value of a name in Traefik's JSON access log means.
func traefikKey(path string) column {
	c := column{name: path}
	switch path {
	case "StartUTC", "StartLocal":
		c.to, c.name = toAnyTime, "time_iso8601"
	case "time":
		c.to, c.name, c.end = toAnyTime, "time_iso8601", true
	case "ClientAddr":
		c.to, c.name = toAddrPort, "remote_addr"
	case "ClientHost":
		c.to, c.name = toAddr, "remote_addr"
	case "ClientPort":
		c.to, c.name = toPort, "remote_port"
	case "ClientUsername":
		c.to, c.name = toUser, "remote_user"
	case "DownstreamStatus":
		c.to, c.name = toStatus, "status"
	case "DownstreamContentSize":
		c.to, c.name = toBody, "body_bytes_sent"
	case "OriginStatus":
		c.name = "upstream_status"
	case "OriginDuration":
		c.to, c.name, c.unit = toUpstream, "upstream_response_time", 1
	case "Duration":
		c.to, c.name, c.unit = toDuration, "request_time", 1
	case "RequestAddr":
		c.to, c.name = toHost, "http_host"
	case "RequestHost":
		c.to, c.name = toHostName, "host"
	case "RequestMethod":
		c.to, c.name = toMethod, "request_method"
	case "RequestPath":
		c.to, c.name = toURI, "request_uri"
	case "RequestProtocol":
		c.to, c.name = toProtocol, "server_protocol"
	case "RequestScheme":
		c.name = "scheme"
	case "TLSVersion":
		c.name = "ssl_protocol"
	case "TLSCipher":
		c.name = "ssl_cipher"
	case "level", "msg":
		c.to = toNothing
	default:
		if h, ok := strings.CutPrefix(path, "request_"); ok {
			return headerColumn(h)
		}
		if h, ok := strings.CutPrefix(path, "downstream_"); ok {
			c.name = "sent_http_" + variable(h)
		} else if h, ok := strings.CutPrefix(path, "origin_"); ok {
			c.name = "upstream_http_" + variable(h)
		}
	}
	return c
}

// envoyKey is what the value of a name means in the JSON that Envoy's and Istio's documents suggest. Envoy has no names of
// its own: they are the operator's.
func envoyKey(path string) column {
	c := column{name: path}
	switch path {
	case "start_time", "timestamp", "time":
		c.to, c.name = toAnyTime, "time_iso8601"
	case "method":
		c.to, c.name = toMethod, "request_method"
	case "path", "x_envoy_original_path":
		c.to, c.name = toURI, "request_uri"
	case "protocol":
		c.to, c.name = toProtocol, "server_protocol"
	case "response_code":
		c.to, c.name = toStatus, "status"
	case "bytes_sent":
		c.to, c.name = toBody, "body_bytes_sent"
	case "duration":
		c.to, c.name, c.unit = toDuration, "request_time", second/1e3
	case "upstream_service_time", "x_envoy_upstream_service_time":
		c.to, c.name, c.unit = toUpstream, "upstream_response_time", second/1e3
	case "x_forwarded_for", "x_request_id", "x_real_ip":
		c.name = "http_" + path
	case "request_id":
		c.name = "http_x_request_id"
	case "user_agent":
		c.to, c.name = toAgent, "http_user_agent"
	case "referer":
		c.to, c.name = toReferer, "http_referer"
	case "authority":
		c.to, c.name = toHost, "http_host"
	case "upstream_host":
		c.name = "upstream_addr"
	case "downstream_remote_address":
		c.to, c.name, c.rank = toAddrPort, "remote_addr", 1
	case "downstream_remote_address_without_port":
		c.to, c.name = toAddr, "remote_addr"
	case "requested_server_name":
		c.name = "ssl_server_name"
	}
	return c
}

// jsonKeys tells what the value at a path means in JSON lines of any other program: nginx's variables by their names, and
// names that many programs use. A time without a unit in its name or its value is not taken for a duration.
func jsonKeys() func(path string) column {
	common := commonKeys()
	return func(path string) column { return jsonKey(common, path) }
}

func jsonKey(common map[string]column, path string) column {
	name := strings.ToLower(strings.NewReplacer("-", "_", "@", "", ">", ".").Replace(path))
	if c, ok := common[name]; ok {
		if c.name == "" {
			c.name = path
		}
		return c
	}
	for _, headers := range []string{"request.headers.", "http.request.headers.", "req.headers.", "headers."} {
		if h, ok := strings.CutPrefix(name, headers); ok {
			return headerColumn(h)
		}
	}
	if c, ok := durationKey(name); ok {
		return c
	}
	c := nginxColumn(name)
	switch {
	case c.isTime():
		c.to = toAnyTime
	case c.to == toField && !strings.HasPrefix(c.name, "http_"):
		c.name = path
	}
	return c
}

// durationKey reads the unit that a name ends with.
func durationKey(name string) (column, bool) {
	c := column{to: toDuration, name: "request_time"}
	leaf := name[strings.LastIndexByte(name, '.')+1:]
	units := []struct {
		suffix string
		unit   int64
	}{{"ms", second / 1e3}, {"millis", second / 1e3}, {"us", second / 1e6}, {"micros", second / 1e6}, {"ns", 1}, {"nanos", 1},
		{"seconds", second}, {"sec", second}, {"s", second}, {"", 0}}
	for _, stem := range []string{"request_duration", "request_time", "response_time", "duration", "latency", "elapsed_time",
		"elapsed", "time_taken", "took"} {
		rest, ok := strings.CutPrefix(leaf, stem)
		if !ok || leaf == "request_time" {
			continue
		}
		for _, u := range units {
			if strings.TrimPrefix(rest, "_") == u.suffix {
				c.unit = u.unit
				return c, true
			}
		}
	}
	return column{}, false
}

// commonKeys are names in small letters with underscores.
func commonKeys() map[string]column {
	m := map[string]column{
		"event.duration": {to: toDuration, name: "request_time", unit: 1},
		"user":           {to: toUser, name: "remote_user"}, "username": {to: toUser, name: "remote_user"},
		"user.name": {to: toUser, name: "remote_user"},
	}
	for _, group := range []struct {
		c     column
		names string
	}{
		{column{to: toAnyTime, end: true, name: "time_iso8601"}, "time timestamp ts datetime date log_time event_time"},
		{column{to: toAnyTime, name: "time_iso8601"}, "start_time starttime request_start"},
		{column{to: toAddr, name: "remote_addr"}, "remote_ip client_ip clientip client_addr ip client.ip client.address " +
			"source.ip source.address remote.ip remote_address request.remote_ip network.client.ip http.client_ip"},
		{column{to: toAddr, name: "remote_addr", rank: 1}, "remote_addr"},
		{column{to: toPort, name: "remote_port"}, "client_port clientport source.port client.port"},
		{column{to: toMethod, name: "request_method"}, "method http_method verb http.request.method request.method http.method req.method"},
		{column{to: toURI, name: "request_uri"}, "url url.original request.url http.url request.uri req.url request_url"},
		{column{to: toPath, name: "uri"}, "path url.path request.path request_path"},
		{column{to: toArgs, name: "args"}, "query url.query"},
		{column{to: toProtocol, name: "server_protocol"}, "protocol proto request.proto request.protocol"},
		{column{to: toStatus, name: "status"}, "status_code statuscode response_code code http.response.status_code " +
			"response.status response.status_code http.status_code res.statuscode http_status"},
		{column{to: toBody, name: "body_bytes_sent"}, "bytes size body_bytes body_bytes http.response.body.bytes response_size response.size"},
		{column{to: toAgent, name: "http_user_agent"}, "user_agent useragent agent user_agent.original http.user_agent http.useragent"},
		{column{to: toReferer, name: "http_referer"}, "referer referrer http_referrer http.request.referrer http.referer"},
		{column{to: toHostName, name: "host"}, "vhost virtual_host url.domain http.host request.host authority"},
	} {
		for _, name := range strings.Fields(group.names) {
			m[name] = group.c
		}
	}
	return m
}
