package conformance

const rewriteLog = `log_format rw '$request_uri $uri $args $status $remote_user'; access_log logs/access.log rw;`

// rewriteSides are the ways of a request inside: rewriting, files, error pages, passwords.
var rewriteSides = []side{
	{
		name: "rewrite_log tells what rewrite and if do",
		http: rewriteLog + `error_log logs/error.log notice; rewrite_log on;
		server { listen 127.0.0.1:@8080@; server_name localhost; rewrite ^/server/(.*)$ /a/$1; set $unset "$later"; if ($arg_s ~ (x)) { set $s $1; }
			location /a { rewrite ^/a/(.*)$ /b/$1?x=$1 last; return 404; } location /b { if ($args !~* never) { set $b 1; } if ($arg_q = 1) { rewrite ^ http://other/$1 redirect; } return 200 "$uri $args"; }
			location /quiet { rewrite_log off; uninitialized_variable_warn off; rewrite ^ /q break; set $a "$later2"; return 200 "$uri"; }
			location /loud { set $a "$later2"; set $later2 1; return 200 "$a"; } location /zero { rewrite ^ $arg_none; } location /loop { rewrite ^ /loop; } set $later 1; }`,
		raw: []string{httpGet("/server/x?q=2"), httpGet("/a/y%20z?q=1"), httpGet("/quiet"), httpGet("/loud"), httpGet("/zero"), httpGet("/loop"), httpGet("/none?s=axb"),
			httpGet("/b?q=1&s=n")},
		headers: []string{"Location", "Content-Type"},
	},
	{
		name: "an if in a location is a location of its own",
		http: rewriteLog + `limit_req_zone $server_name zone=z:1m rate=1r/m;
		server { listen 127.0.0.1:@8080@; server_name localhost; root html; add_header X-S server;
			location / { add_header X-L outer; proxy_pass http://127.0.0.1:@8081@; proxy_set_header X-Seen "loc $uri";
				if ($arg_v = header) { add_header X-I inner; } if ($arg_v = none) { set $a 1; } if ($arg_v = proxy) { proxy_pass http://127.0.0.1:@8082@; }
				if ($arg_v = root) { root other; } if ($arg_v = rate) { set $limit_rate 2k; limit_rate 3k; } if ($arg_v = log) { access_log off; } if ($arg_v = err) { error_page 403 =200 /t; return 403; }
				if ($arg_v = break) { rewrite ^ /changed break; } if ($arg_v = last) { rewrite ^ /t last; } if ($arg_w) { add_header X-W w; } }
			location /t { return 200 "t $uri"; } 
			location /f { root html; if ($arg_v = root) { root other; } if (-f $document_root/f/x) { add_header X-F x; } if (!-e $request_filename) { return 410; } }
			location /x { root html; if ($arg_v) { } add_header X-Out x; limit_rate 1m; default_type text/x; }
			location /lim { limit_req zone=z; if ($arg_v) { add_header X-In v; } proxy_pass http://127.0.0.1:@8081@; }
			location /uri/ { proxy_pass http://127.0.0.1:@8081@/base/; if ($arg_v = break) { rewrite ^ /uri/b/c break; } if ($arg_v = deep) { add_header X-D d; } } 
			location /al { alias html/f; if ($arg_v = break) { rewrite ^ /al/x break; } } }
		server { listen 127.0.0.1:@8082@; access_log off; return 200 "other $uri"; }` + okServer,
		files: map[string]string{"html/f/x": "file x\n", "other/f/x": "other x\n", "html/x": "the x\n", "other/root": "no\n"},
		raw: []string{httpGet("/p"), httpGet("/p?v=header"), httpGet("/p?v=none"), httpGet("/p?v=proxy"), httpGet("/p?v=root"), httpGet("/p?v=rate"), httpGet("/p?v=log"), httpGet("/p?v=err"),
			httpGet("/p?v=break"), httpGet("/p?v=last"), httpGet("/p?v=proxy&w=1"), httpGet("/f/x"), httpGet("/f/x?v=root"), httpGet("/f/y"), httpGet("/x?v=1"), httpGet("/x"),
			httpGet("/lim"), httpGet("/lim?v=1"), httpGet("/uri/a"), httpGet("/uri/a?v=break"), httpGet("/uri/a?v=deep"), httpGet("/al/x"), httpGet("/al/x?v=break")},
		headers: []string{"X-S", "X-L", "X-I", "X-W", "X-F", "X-Out", "X-In", "X-D", "Content-Type"},
	},
	{
		name: "try_files: files, folders, codes, names and paths",
		http: rewriteLog + `server { listen 127.0.0.1:@8080@; server_name localhost; root html; try_files /srv.txt =404;
			location /a { try_files $uri $uri/ /fb?u=$uri&$args; } location /fb { return 200 "fb $uri $args $request_method"; }
			location /code { try_files $uri =405; } location /code444 { try_files $uri =444; } location /code5 { try_files $uri =503; error_page 503 /fb; }
			location /named { try_files $uri @n; } location @n { return 200 "named $uri $args"; } location /nonamed { try_files $uri @nosuch; }
			location /dir { try_files $uri/ =404; } location /fixed { try_files /none /a/f.txt =404; } location /var { try_files /$arg_f =404; }
			location /al/ { alias html/a/; try_files $uri $uri/ /al/fb.txt; } location /al2/ { alias html/a/; try_files f.txt =404; } location /al3/ { alias html/a/; try_files $uri /al3/$arg_f; } location /alno { alias html/a; try_files $uri =404; }
			location ~ ^/re/(.*)$ { alias html/a/$1; try_files "" =404; } location ~ ^/re2/(.*)$ { alias html; try_files /a/$1 =404; }
			location /proxy { try_files /a/f.txt =404; proxy_pass http://127.0.0.1:@8081@; } location /px/ { try_files /a/f.txt =404; proxy_pass http://127.0.0.1:@8081@/b/; }
			location /loop { try_files /none /loop; } location /if { if ($arg_v) { set $a 1; } try_files /a/f.txt =404; } location /long { try_files /$uri/$uri/$uri =404; }
			location /perm { try_files $uri /fb; } location /idx { try_files $uri/index.html $uri =404; } location /lim { limit_except GET { allow all; } try_files /a/f.txt =404; }
			location /down { error_page 404 = @n; try_files $uri =404; } location ~ \.php$ { return 200 "php $uri $args"; } location /wp/ { index index.php; try_files $uri $uri/ /wp/index.php?$args; } }` + okServer,
		files: map[string]string{"html/a/f.txt": "file f\n", "html/a/d/index.html": "index d\n", "html/srv.txt": "server\n", "html/al/fb.txt": "fb\n", "html/idx/index.html": "idx\n", "html/wp/x.txt": "x\n"},
		raw: []string{httpGet("/other"), httpGet("/a/f.txt?q"), httpGet("/a/d/"), httpGet("/a/d"), httpGet("/a/none?x=1"), httpGet("/code"), httpGet("/code444"), httpGet("/code5"), httpGet("/named?q"), httpGet("/nonamed"),
			httpGet("/dir"), httpGet("/a/"), httpGet("/fixed"), httpGet("/var?f=a/f.txt"), httpGet("/var?f=none"), httpGet("/al/f.txt"), httpGet("/al/d/"), httpGet("/al/none"), httpGet("/al2/x"), httpGet("/al3/x?f=y"), httpGet("/alno/f.txt"),
			httpGet("/re/f.txt"), httpGet("/re2/f.txt"), httpGet("/re2/none"), httpGet("/proxy"), httpGet("/px/z"), httpGet("/loop"), httpGet("/if"), httpGet("/if?v=1"), httpGet("/idx"),
			"POST /a/none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", "POST /lim HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", httpGet("/lim"),
			httpGet("/down/x"), httpGet("/wp/x.txt"), httpGet("/wp/"), httpGet("/wp/post/7?a=b"), httpGet("/a/f.txt/x")},
		headers: []string{"Location", "Content-Type"},
	},
	{
		name: "error pages in all forms",
		http: rewriteLog + `server { listen 127.0.0.1:@8080@; server_name localhost; error_page 404 /e404; error_page 500 502 503 504 @oops;
			location = /e404 { internal; return 200 "e404 $uri $request_uri $status\n"; } location @oops { return 200 "oops $uri $status\n"; }
			location /a { return 404; } location /b { return 502; } location /own { error_page 403 =401 /e404; return 404; }
			location /rec { recursive_error_pages on; error_page 404 /rec2; return 404; } location /rec2 { recursive_error_pages on; error_page 403 = /rec3; return 403; } location /rec3 { return 200 rec3; }
			location /norec { error_page 404 /norec2; return 404; } location /norec2 { error_page 403 = /rec3; return 403; }
			location /cycle { recursive_error_pages on; error_page 404 /cycle; return 404; }
			location /varto { error_page 410 =200 /to$uri?a=$arg_a; return 410; } location /to { return 200 "$uri $args"; } location /url { error_page 404 =307 http://other$request_uri; return 404; }
			location /same { error_page 404 = @proxy; return 404; } location @proxy { proxy_pass http://127.0.0.1:@8081@; } location /int { internal; return 200 int; location /int/in { return 200 in; } }
			location /deny { error_page 403 /deny.html; deny all; location = /deny.html { allow all; return 200 denied; } } }` + okServer,
		raw: []string{httpGet("/a?x"), httpGet("/b"), httpGet("/own"), httpGet("/rec"), httpGet("/norec"), httpGet("/cycle"), httpGet("/varto?a=1"), httpGet("/url?b=1"), httpGet("/same?q=1"), httpGet("/int"), httpGet("/int/in"),
			httpGet("/e404"), httpGet("/deny"), httpGet("/none"), "GET /a HTTP/1.1\r\n\r\n", "POST /same HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", "HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		headers: []string{"Location", "Content-Type", "Content-Length"},
	},
	{
		name: "X-Accel-Redirect goes where error pages go",
		http: rewriteLog + `server { listen 127.0.0.1:@8080@; server_name localhost; root html;
			location / { proxy_pass http://127.0.0.1:@8081@; } location /int { internal; } location @named { return 200 "named $uri $args $request_method"; } location /ret { return 200 "ret $uri $args $request_method $upstream_http_x_a"; } }
		server { listen 127.0.0.1:@8081@; access_log off; add_header X-Accel-Redirect $arg_to; add_header X-A a; add_header Set-Cookie c=d; add_header Content-Disposition inline; location / { default_type a/b; return 200 "backend"; } }`,
		files: map[string]string{"html/int/file": "inside\n", "html/int/sp ace": "space\n"},
		raw: []string{httpGet("/?to=/int/file"), httpGet("/?to=/int/sp%20ace"), httpGet("/?to=@named"), httpGet("/?to=@nosuch"), httpGet("/?to=/ret?x=1"), httpGet("/?to=/../etc"), httpGet("/?to=/int/%2e%2e/x"), httpGet("/?to=../x"), httpGet("/int/file"),
			httpGet("/?to=/?to=/ret"), "POST /?to=/ret HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", "POST /?to=@named HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", httpGet("/?to=/int/none")},
		headers: []string{"Content-Type", "Set-Cookie", "Content-Disposition", "X-A", "Content-Length"},
	},
	{
		name: "passwords, and who satisfies what",
		http: rewriteLog + `auth_basic "the $host"; auth_basic_user_file users;
		server { listen 127.0.0.1:@8080@; server_name localhost; root html;
			location / { } location /off { auth_basic off; } location /var { auth_basic $arg_realm; } location /nofile { auth_basic_user_file none; } location /dir { auth_basic_user_file .; } location /varfile { auth_basic_user_file ./$arg_f; }
			location /all { allow 127.0.0.1; deny all; } location /deny { deny all; } location /any { satisfy any; deny all; } location /anyok { satisfy any; allow 127.0.0.1; deny all; } location /anysilent { satisfy any; allow 10.0.0.1; }
			location /anyoff { satisfy any; deny all; auth_basic off; } location /page { error_page 401 /401.txt; } location = /401.txt { auth_basic off; } location /delay { auth_delay 10ms; }
			location /except { auth_basic off; limit_except GET { auth_basic inner; } } location /exdeny { auth_basic off; limit_except GET PUT { deny all; } return 200 never; } }`,
		files: map[string]string{
			"html/f": "secret\n", "html/off/f": "open\n", "html/any/f": "any\n", "html/anyok/f": "anyok\n", "html/all/f": "all\n", "html/401.txt": "please\n", "html/except/f": "except\n", "html/anysilent/f": "silent\n", "html/var/f": "var\n",
			"users": "# a comment\nplain:{PLAIN}secret\nsha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=:with a comment\nssha:{SSHA}3HDz2GLxm7vvqvZqcyTzbCfZB49zYWx0\napr:$apr1$xyzw$Gj5lwCvmwOZoDold.Cksi.\r\n" +
				"md5:$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/\nsix:$6$saltstring$adDbXsJjcDlq2662QPgd.tkSOVmnG9Tt3oXl4HR60SusC3AGjirnDenVZp3DGwLwqy6iYKCzannhaX9DR72nN1\nfive:$5$saltstring$OH4IDuTlsuTYPdED1gsuiRMyTAwNlRWyA6Xr3I4/dQ5\n" +
				"des:abJnggxhB/yWI\nbcrypt:$2y$04$2P8SWAdOemLB7HOgVm8K0uadv75EgGNawkUiKAF00H2iCo0HaphvO\nnone:\nbare:secret\nlast:{PLAIN}end",
		},
		raw: []string{
			httpGet("/f"), auth("/f", "plain:secret"), auth("/f", "plain:wrong"), auth("/f", "sha:secret"), auth("/f", "ssha:secret"), auth("/f", "apr:a"), auth("/f", "md5:password"), auth("/f", "six:password"), auth("/f", "five:password"),
			auth("/f", "des:password"), auth("/f", "bcrypt:password"), auth("/f", "bcrypt:wrong"), auth("/f", "none:"), auth("/f", "bare:secret"), auth("/f", "last:end"), auth("/f", "nobody:x"), auth("/f", "plai:secret"), auth("/f", ":secret"), auth("/f", "plain"),
			httpGet("/f", "Authorization: Bearer x"), httpGet("/f", "Authorization: Basic !"), httpGet("/off/f"), httpGet("/var/f?realm=off"), httpGet("/var/f?realm=x"), httpGet("/var/f"), auth("/nofile/f", "plain:secret"), auth("/dir/f", "plain:secret"),
			auth("/varfile/f?f=users", "plain:secret"), auth("/all/f", "plain:secret"), httpGet("/all/f"), auth("/deny/f", "plain:secret"), httpGet("/any/f"), auth("/any/f", "plain:secret"), auth("/any/f", "plain:wrong"), httpGet("/anyok/f"), httpGet("/anysilent/f"),
			httpGet("/anyoff/f"), httpGet("/page/x"), httpGet("/delay/f"), httpGet("/except/f"), "DELETE /except/f HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "PUT /exdeny HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			"POST /exdeny HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		},
		headers: []string{"WWW-Authenticate", "Content-Type"},
	},
	{
		name: "redirects name what they are told to",
		http: rewriteLog + `server { listen 127.0.0.1:@8080@; server_name first.example second.example; root html; location /d { }
			location /noport { port_in_redirect off; return 301 /x; } location /name { server_name_in_redirect on; return 302 /x; } location /both { server_name_in_redirect on; port_in_redirect off; rewrite ^ /x redirect; }
			location /rel { absolute_redirect off; return 307 /x?y; } location /reldir { absolute_redirect off; } location /p/ { absolute_redirect off; proxy_pass http://127.0.0.1:1; } location /q/ { proxy_pass http://127.0.0.1:1; }
			location /relrw { absolute_redirect off; rewrite ^ /x permanent; } location /err { error_page 404 =302 /x; return 404; } location /nolog { log_not_found off; } location /nolog/i/ { log_not_found off; } }`,
		files: map[string]string{"html/d/e/x": "", "html/reldir/e/x": ""},
		raw: []string{httpGet("/d/e?a=b"), httpGet("/noport"), httpGet("/name"), httpGet("/both"), httpGet("/rel"), httpGet("/reldir/e"), httpGet("/p"), httpGet("/q?z"), httpGet("/relrw?a"), httpGet("/err"), httpGet("/nolog/x"), httpGet("/nolog/y/"), httpGet("/nolog/i/z/"), httpGet("/d/none"),
			"GET /d/e HTTP/1.0\r\n\r\n", "GET /name HTTP/1.0\r\n\r\n"},
		headers: []string{"Location"},
	},
	{
		name: "field cases 6, 7 and 9: limits come before passwords and behind rewriting, and once a request",
		http: limitsLog + `limit_req_zone $binary_remote_addr zone=a:1m rate=1r/m; limit_req_zone $server_name zone=b:1m rate=1r/m; limit_req_status 429;
		server { listen 127.0.0.1:@8080@; server_name localhost; root html;
			location /auth { limit_req zone=a burst=2 nodelay; auth_basic r; auth_basic_user_file users; }
			location /ret { limit_req zone=a; return 404; } location /rw { limit_req zone=a; rewrite ^ /ret last; } location /ifret { limit_req zone=a; if ($args = x) { return 403; } }
			location /try { limit_req zone=b burst=1 nodelay; try_files /none /second; } location /second { limit_req zone=a; proxy_pass http://127.0.0.1:@8081@; } location /free { try_files /none @limited; } location @limited { limit_req zone=b; proxy_pass http://127.0.0.1:@8081@; } }` + okServer,
		files: map[string]string{"users": "u:{PLAIN}p\n", "html/auth": "in\n"},
		raw: append(append(append(append(append(repeat(5, auth("/auth", "u:wrong")), repeat(3, httpGet("/ret"))...), httpGet("/rw"), httpGet("/ifret?x"), httpGet("/ifret")), auth("/auth", "u:p")), repeat(3, httpGet("/try"))...),
			httpGet("/free"), httpGet("/second")),
	},
	{
		name: "slashes are merged, or not",
		http: rewriteLog + `server { listen 127.0.0.1:@8080@; server_name localhost; location /a/b { return 200 "ab $uri"; } location //a { return 200 "slashes $uri"; } location / { return 200 "root $uri"; } }`,
		raw:  []string{httpGet("//a//b"), httpGet("/a///b/..//c"), httpGet("/%2F/a/%2Fb")},
	},
	{
		name: "slashes stay",
		http: rewriteLog + `server { listen 127.0.0.1:@8080@; server_name localhost; merge_slashes off; location /a/b { return 200 "ab $uri"; } location //a { return 200 "slashes $uri"; } location / { return 200 "root $uri"; } }`,
		raw:  []string{httpGet("//a//b"), httpGet("/a///b/..//c"), httpGet("/%2F/a/%2Fb")},
	},
	{
		name: "what people write",
		http: rewriteLog + `map $http_x_tier $tier { default free; ~^gold(?<level>\d) gold$level; } rewrite_log on; error_log logs/error.log info;
		server { listen 127.0.0.1:@8080@; server_name www.site.example; if ($host ~* ^www\.(.*)) { set $bare $1; rewrite ^(.*)$ http://$bare$1 permanent; } }
		server { listen 127.0.0.1:@8080@ default_server; server_name site.example; root html; error_page 503 @maintenance; error_page 404 /404.html; error_page 500 502 504 /50x.html;
			if (-f $document_root/maintenance/$arg_m) { set $down 1; } if ($down) { return 503; }
			location @maintenance { rewrite ^(.*)$ /maintenance.html break; }
			location / { try_files $uri $uri/ @front; } location @front { rewrite ^/(.+)$ /index.php?q=$1 last; rewrite ^/$ /index.php last; }
			location ~ \.php$ { if (!-f $document_root$fastcgi) { set $missing yes; } return 200 "php $uri $args $missing"; } set $fastcgi "";
			location /legacy { if (!-e $request_filename) { rewrite ^(.+)$ /index.php?legacy=$1 last; } }
			location /download/ { rewrite ^(/download/.*)/media/(.*)\..*$ $1/mp3/$2.mp3 last; rewrite ^(/download/.*)/audio/(.*)\..*$ $1/mp3/$2.ra last; return 403; } location ~ \.(mp3|ra)$ { return 200 "media $uri $1"; }
			location /users/ { rewrite ^/users/(\d+)$ /show?user=$1? last; rewrite ^/users/(\w+)/(.*)$ /show?name=$1&rest=$2 break; return 200 "users $uri $args"; } location = /show { return 200 "show $args"; }
			location /slash/ { rewrite ^/(.*)/$ /$1 permanent; return 200 "slash $uri"; }
			location /cors { if ($request_method = OPTIONS) { add_header Access-Control-Allow-Origin $http_origin; add_header Access-Control-Max-Age 60; return 200; } add_header X-Plain yes; proxy_pass http://127.0.0.1:@8081@; }
			location /cookie { if ($http_cookie ~* "id=([^;]+)(?:;|$)") { set $id $1; } return 200 "id $id"; }
			location /method { if ($request_method !~ ^(GET|HEAD|POST)$) { return 405; } return 200 ok; }
			location /canary { set $pool 127.0.0.1:@8081@; if ($tier ~ ^gold(.)) { set $pool 127.0.0.1:@8082@; } proxy_pass http://$pool; proxy_set_header X-Seen "$tier $1"; }
			location /bots { if ($http_user_agent ~* (bot|spider|^$)) { return 403; } if ($args ~ "(^|&)debug=1") { rewrite ^ /show? last; } return 200 "human"; }
			location /assets/ { alias html/static/; try_files $uri @asset; } location @asset { proxy_pass http://127.0.0.1:@8081@; }
			location ~ ^/img/(?<size>\d+)/(?<file>.+)$ { if (!-f html/cache/$size/$file) { rewrite ^ /resize?size=$size&file=$file last; } } location /resize { internal; proxy_pass http://127.0.0.1:@8081@; }
			location ^~ /protected/ { internal; alias html/private/; } location /get { rewrite ^/get/(.*)$ /protected/$1 last; }
			location ~ /\. { deny all; } location = /favicon.ico { log_not_found off; access_log off; } }
		server { listen 127.0.0.1:@8082@; access_log off; return 200 "canary $http_x_seen"; }` + okServer,
		files: map[string]string{"html/maintenance.html": "back soon\n", "html/maintenance/on": "", "html/404.html": "none\n", "html/a.txt": "a\n", "html/legacy/x": "legacy\n", "html/static/x.js": "js\n", "html/private/f": "private\n", "html/.hidden": "never\n"},
		raw: []string{
			"GET /p?q HTTP/1.1\r\nHost: www.Site.example\r\nConnection: close\r\n\r\n", httpGet("/x?m=on"), httpGet("/a.txt"), httpGet("/post/my%20title?a=b"), httpGet("/"), httpGet("/index.php?x"), httpGet("/legacy/x"), httpGet("/legacy/y?z=1"),
			httpGet("/download/a/media/song.wav"), httpGet("/download/a/audio/song.wav"), httpGet("/download/x"), httpGet("/users/42?drop"), httpGet("/users/joe/a+b%2Fc?keep"), httpGet("/users/-"), httpGet("/slash/a/?q"), httpGet("/slash/a"),
			"OPTIONS /cors HTTP/1.1\r\nHost: h\r\nOrigin: http://o\r\nConnection: close\r\n\r\n", httpGet("/cors"), httpGet("/cookie", "Cookie: a=b; ID=77; c=d"), httpGet("/cookie"), "PURGE /method HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", httpGet("/method"),
			httpGet("/canary", "X-Tier: gold7"), httpGet("/canary"), httpGet("/bots", "User-Agent: SomeBot"), httpGet("/bots", "User-Agent: x"), httpGet("/bots?debug=1", "User-Agent: x"), httpGet("/bots"), httpGet("/assets/x.js"), httpGet("/assets/y.js"),
			httpGet("/img/10/a%20b.png"), httpGet("/resize"), httpGet("/protected/f"), httpGet("/get/f"), httpGet("/.hidden"), httpGet("/favicon.ico"),
		},
		headers: []string{"Location", "Content-Type", "Access-Control-Allow-Origin", "Access-Control-Max-Age", "X-Plain"},
	},
	{
		name: "variables of paths and arguments that are there, empty, or missing",
		http: `log_format v '[$uri] [$args] [$is_args] [$document_uri] [$request_filename] [$document_root] [$remote_user] [$sent_http_cache_control] [$arg_l:$arg_]'; access_log logs/access.log v;
		server { listen 127.0.0.1:@8080@; root html; location / { return 200 "$arg_l:$arg_"; } location /set { add_header Cache-Control a; add_header Cache-Control b; return 200 x; } location /al/ { alias html/x/; return 200 "$request_filename"; }
			location ~ ^/re/(.*)$ { alias html/$1; return 200 "$request_filename $1"; } location /drop { rewrite ^ /? last; } location /drop2 { rewrite ^ /x? break; return 200 "$is_args"; } location /setargs { set $args ""; return 200 "[$args]"; }
			location /limit_rate { set $limit_rate $arg_l; add_header X-Rate $limit_rate; return 200 OK; } location /seta { set $args "l=9"; return 200 "$arg_l $is_args$args $request_uri"; } location /det { rewrite ^ /al/ break; return 200 "$request_filename"; } }`,
		raw: []string{httpGet("/arg?l=42"), httpGet("/../bad_uri"), httpGet("/?"), httpGet("/x?"), httpGet("/set"), httpGet("/al/y"), httpGet("/re/y/z"), httpGet("/drop?q"), httpGet("/drop"), httpGet("/drop2?q"), httpGet("/setargs?q"),
			httpGet("/limit_rate?l=40k"), httpGet("/limit_rate"), httpGet("/seta?x"), httpGet("/det"), "BAD\r\n\r\n", httpGet("/a%20b?L=1&l=2")},
		headers: []string{"X-Rate"},
	},
}
