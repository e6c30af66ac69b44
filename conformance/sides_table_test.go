package conformance

// limitsLog shows what limits decided.
const limitsLog = `log_format st '$request_uri $status $limit_req_status $limit_conn_status'; access_log logs/access.log st;`

const okServer = ` server { listen 127.0.0.1:@8081@; access_log off; location / { return 200 "backend $uri $http_x_seen\n"; } }`

var sides = []side{
	{
		name: "limit_req refuses with 503 by default",
		http: limitsLog + `limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m;
		server { listen 127.0.0.1:@8080@; location / { limit_req zone=one; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: repeat(3, httpGet("/a")), headers: []string{"Content-Type", "Content-Length", "Connection"},
	},
	{
		name: "limit_req burst nodelay, status and log level",
		http: limitsLog + `limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m; limit_req_status 429; limit_req_log_level warn;
		server { listen 127.0.0.1:@8080@; location / { limit_req zone=one burst=2 nodelay; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: repeat(5, httpGet("/a?x=1", "Referer: http://r/")), headers: []string{"Content-Type"},
	},
	{
		name: "limit_req dry run",
		http: limitsLog + `limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m; limit_req_dry_run on;
		server { listen 127.0.0.1:@8080@; location / { limit_req zone=one burst=1; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: repeat(4, httpGet("/a")),
	},
	{
		name: "delays are logged one level below",
		http: limitsLog + `limit_req_zone $binary_remote_addr zone=slow:1m rate=1r/s; limit_req_log_level notice;
		server { listen 127.0.0.1:@8080@; location / { limit_req zone=slow burst=9; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: repeat(3, httpGet("/a")),
	},
	{
		name: "several zones: any refusal charges none",
		http: limitsLog + `limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m; limit_req_zone $arg_k zone=b:1m rate=1r/m;
		server { listen 127.0.0.1:@8080@; location / { limit_req zone=a burst=5 nodelay; limit_req zone=b burst=1 nodelay; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: append(repeat(4, httpGet("/?k=x")), repeat(5, httpGet("/?k=y"))...),
	},
	{
		name: "an empty key is not counted, a return in the rewrite phase neither, a child's limits replace the parent's",
		http: limitsLog + `limit_req_zone $arg_k zone=k:1m rate=1r/m; limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m; limit_req zone=a;
		server { listen 127.0.0.1:@8080@;
			location /key { limit_req zone=k; proxy_pass http://127.0.0.1:@8081@; }
			location /ret { limit_req zone=a; return 200 "r"; }
			location /in { proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: append(append(append(repeat(3, httpGet("/key")), repeat(2, httpGet("/key?k=1"))...), repeat(3, httpGet("/ret"))...), repeat(2, httpGet("/in"))...),
	},
	{
		name: "limit_req and error_page: limited once",
		http: limitsLog + `limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m; limit_req_zone $server_name zone=b:1m rate=1r/m;
		server { listen 127.0.0.1:@8080@; server_name localhost;
			location / { limit_req zone=a; error_page 503 /busy; proxy_pass http://127.0.0.1:@8081@; }
			location /busy { limit_req zone=b; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: repeat(4, httpGet("/x")),
	},
	{
		name: "limit_conn dry run and statuses",
		http: limitsLog + `limit_conn_zone $binary_remote_addr zone=c:1m; limit_conn_status 429;
		server { listen 127.0.0.1:@8080@; location / { limit_conn c 1; proxy_pass http://127.0.0.1:@8081@; } location /dry { limit_conn c 1; limit_conn_dry_run on; proxy_pass http://127.0.0.1:@8081@; } location /none { proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: []string{httpGet("/a"), httpGet("/dry"), httpGet("/none")},
	},
	{
		name: "map and geo choose who is counted",
		http: limitsLog + `geo $arg_ip $known { default 0; 10.0.0.0/8 1; 192.168.1.0/24 2; }
		map $known $limit_key { 0 $arg_ip; 1 ""; default $binary_remote_addr; }
		limit_req_zone $limit_key zone=a:1m rate=1r/m;
		server { listen 127.0.0.1:@8080@; add_header X-Known "$known" always; location / { limit_req zone=a; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw:     []string{httpGet("/?ip=10.1.2.3"), httpGet("/?ip=10.1.2.3"), httpGet("/?ip=1.1.1.1"), httpGet("/?ip=1.1.1.1"), httpGet("/?ip=2.2.2.2"), httpGet("/?ip=192.168.1.9"), httpGet("/?ip=192.168.1.8")},
		headers: []string{"X-Known"},
	},
	{
		name: "real client address",
		http: `log_format ip '$remote_addr $remote_port $realip_remote_addr $status'; access_log logs/access.log ip;
		set_real_ip_from 127.0.0.1; set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on;
		limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m;
		server { listen 127.0.0.1:@8080@; location / { limit_req zone=a; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: []string{
			httpGet("/", "X-Forwarded-For: 1.2.3.4, 203.0.113.9"), httpGet("/", "X-Forwarded-For: 203.0.113.9, 10.1.1.1"),
			httpGet("/", "X-Forwarded-For: 1.1.1.1:4711"), httpGet("/", "X-Forwarded-For: 2001:db8::1"), httpGet("/", "X-Forwarded-For: 8.8.8.8", "X-Forwarded-For: 9.9.9.9"),
		},
	},
	{
		name: "proxying: headers, uri, methods",
		http: `access_log off; server { listen 127.0.0.1:@8080@;
			location / { proxy_pass http://127.0.0.1:@8081@; }
			location /cut/ { proxy_pass http://127.0.0.1:@8081@/base/; proxy_set_header X-Seen "$host|$uri|$args|$request_method|$scheme"; }
			location /var { set $b 127.0.0.1:@8081@; proxy_pass http://$b$uri; }
			location ~ ^/re/(?<rest>.*)$ { proxy_set_header X-Seen $rest; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		raw: []string{
			httpGet("/a%20b?q=1", "X-Seen: client"), httpGet("/cut/x/../y?q=2"), httpGet("/cut"), httpGet("/var/z"), httpGet("/re/one/two"),
			"POST /cut/p HTTP/1.1\r\nHost: other\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", "HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
			"GET /old HTTP/1.0\r\n\r\n",
		},
		headers: []string{"Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Location"},
	},
	{
		name: "answers without an upstream",
		http: `log_format short '$remote_addr [$request] $status $http_user_agent'; access_log logs/access.log short; server { listen 127.0.0.1:@8080@; root html; error_page 404 /nf.html;
			location /t { return 200 "text\n"; } location /r { return 301 /there; } location /e { return 418; } location /c { return 204; }
			location /deny { deny all; } location /f { } location /gone { return 410; } }`,
		files:   map[string]string{"html/f/a.txt": "a file\n", "html/f/index.html": "<p>index</p>\n", "html/nf.html": "not here\n"},
		raw:     []string{httpGet("/t"), httpGet("/r"), httpGet("/e"), httpGet("/c"), httpGet("/missing"), httpGet("/deny"), httpGet("/f/a.txt"), httpGet("/f/"), httpGet("/f"), httpGet("/gone"), httpGet("/nf.html"), "GET / HTTP/1.1\r\n\r\n", "BAD\r\n\r\n"},
		headers: []string{"Content-Type", "Content-Length", "Location", "Connection"},
	},
	{
		name: "what a client is told of its connection",
		http: `access_log off; keepalive_timeout 200ms 7; server { listen 127.0.0.1:@8080@; location / { return 200 a; } location /in { keepalive_timeout 300ms; return 200 b; }
			location /off { keepalive_timeout 200ms 0; return 200 c; } }`,
		raw: []string{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /in HTTP/1.1\r\nHost: h\r\n\r\n", "GET /off HTTP/1.1\r\nHost: h\r\n\r\n",
			"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", httpGet("/")},
		headers: []string{"Connection", "Keep-Alive"},
	},
	{
		name: "set, break and return act in their order",
		http: `access_log off; server { listen 127.0.0.1:@8080@; set $a server; break; set $a behind;
			location / { return 200 "$a"; } location /b { set $a location; break; set $a behind; return 200 x; root html; } location /r { return 200 "r$a"; break; } }`,
		files: map[string]string{"html/b": "the file\n"},
		raw:   []string{httpGet("/"), httpGet("/b"), httpGet("/r")},
	},
	{
		name: "the rate of an answer in the log",
		http: `log_format rate '$request_uri $limit_rate'; access_log logs/access.log rate;
		server { listen 127.0.0.1:@8080@; location / { return 200 a; } location /fixed { limit_rate 64k; return 200 "b$limit_rate"; } location /var { limit_rate $arg_r; return 200 c; }
			location /set { limit_rate 1k; set $limit_rate 32k; return 200 "d$limit_rate"; } location /up { limit_rate 1k; proxy_pass http://127.0.0.1:@8081@; } }
		server { listen 127.0.0.1:@8081@; access_log off; location / { add_header X-Accel-Limit-Rate 131072; return 200 up; } }`,
		raw: []string{httpGet("/"), httpGet("/fixed"), httpGet("/var?r=16k"), httpGet("/var?r=x"), httpGet("/var"), httpGet("/set"), httpGet("/up")},
	},
	{
		name: "upstream errors",
		http: limitsLog + `server { listen 127.0.0.1:@8080@; location / { proxy_pass http://127.0.0.1:1; } location /up { proxy_pass http://u; } location /p { error_page 502 =200 /fallback; proxy_pass http://127.0.0.1:1; } location /fallback { return 200 "fallback"; } }
		upstream u { server 127.0.0.1:1 max_fails=0; server 127.0.0.1:@8081@; }` + okServer,
		raw: []string{httpGet("/a"), httpGet("/up"), httpGet("/up"), httpGet("/p")},
	},
}
