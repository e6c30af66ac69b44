package pipeline

// show answers with all that rewriting changes.
const show = ` return 200 "$uri|$args|$is_args|$1|$2|$a|$document_uri|$request_uri";`

// judgedRewrites are the cases of rewrite and if.
var judgedRewrites = map[string]judgedCase{
	"rewrite": {
		servers: `server { LISTEN set $a "";
			location /show {` + show + `}
			location /last { rewrite ^/last/(.*)$ /show/$1 last; return 200 never; }
			location /on { rewrite ^/on/(.*)$ /second/$1; rewrite ^/second/(.*)$ /third/$1;` + show + `}
			location /goeson { rewrite ^/goeson/(.*)$ /show/$1; set $a "set"; }
			location /break { rewrite ^/break/(.*)$ /show/$1 break;` + show + `}
			location /args { rewrite ^/args/(.*)$ /show?x=$1 last; }
			location /drop { rewrite ^/drop/(.*)$ /show/$1? last; }
			location /dropargs { rewrite ^/dropargs/(.*)$ /show?x=$1? last; }
			location /emptyargs { rewrite ^ /show?? last; }
			location /two { rewrite ^/two/(.*)$ /show?a=b?c=$1&d=$arg_q last; }
			location /none { rewrite ^/other /show last;` + show + `}
			location /red { rewrite ^/red/(.*)$ /to/$1 redirect; }
			location /perm { rewrite ^/perm/(.*)$ /to/$1?x permanent; }
			location /abs { rewrite ^/abs/(.*)$ http://other/$1; }
			location /abss { rewrite ^/abss/(.*)$ https://other/$1? last; }
			location /scheme { rewrite ^/scheme/(.*)$ $scheme://other/$1 break; }
			location /absargs { rewrite ^/absargs/(.*)$ http://other/?p=$1 permanent; }
			location /var { set $a /show/v; rewrite ^ $a last; }
			location /uri { rewrite ^/uri(.*)$ /show$uri?u=$uri&one=$1 last; }
			location /urired { rewrite ^/urired(.*)$ /to$1?u=$uri redirect; }
			location /named { rewrite ^/named/(?<rest>.*)/(?<last>.*)$ /show/$last/$rest; set $a "$rest+$last"; }
			location /group { rewrite ^/group(/x)?(/y)?$ /show/$1-$2 last; }
			location /empty { rewrite ^ "$a"; return 200 never; }
			location /emptyq { rewrite ^ ?; return 200 never; }
			location /loop { rewrite ^ /loop last; }
			location /loop10 { rewrite ^/loop10(.*)$ /loop10/x$1 last; rewrite "^/loop10(/x){10}$" /show last; }
			location ~ ^/count/(x*)$ { set $a "$1"; rewrite ^/count/xxxxxxxxxx$ /show/done last; rewrite ^/count/(x*)$ /count/x$1 last; }
			location ~ ^/count9/(x*)$ { set $a "$1"; rewrite ^/count9/xxxxxxxxx$ /show/done last; rewrite ^/count9/(x*)$ /count9/x$1 last; }
			location /setcap { rewrite ^/setcap/(.*)$ /show/$1; set $a "$1-$2"; }
			location ~ ^/quoted/(.*)$ { set $a "$1";` + show + `}
			location ~ ^/quotedif/(.*)$ { if ($uri = "/quotedif/$1") { set $a yes; }` + show + `}
			location ~ ^/plain/(.*)$ { rewrite ^/plain/(.*)$ /plain2/$1 break; set $a "$1";` + show + `}
			location /noslash { rewrite ^ show last; }
			location /case { rewrite ^/CASE /show last; rewrite (?i)^/CASE(.*) /show$1 last; }
			location /unesc { rewrite ^ http://u/%41%3f%3F%20%zz%4 redirect; }
			location /unesc2 { rewrite ^ http://u/%41%25%7e%7F%2F%0a redirect; }
			location /flags { rewrite ^/flags/a /show/a break; rewrite ^/flags/b /show/b last; rewrite ^/flags/c /show/c redirect;` + show + `}
			location /internal { internal;` + show + `location /internal/in {` + show + `} }
			location /toint { rewrite ^ /internal/x last; } location /tointin { rewrite ^ /internal/in last; }
			location /errint { error_page 404 /internal/e; return 404; }
			location /breakret { rewrite ^ /x break; return 200 "$uri"; }
			location /chg { rewrite ^ /show/chg; break; return 200 never; }
		}
		server { LISTEN; server_name srv; set $a ""; rewrite ^/old/(.*)$ /new/$1; rewrite ^/red/(.*)$ /to/$1 permanent; rewrite ^/l/(.*)$ /new/l/$1 last; rewrite ^/l /never;
			rewrite ^/b/(.*)$ /new/b/$1 break; rewrite ^/b /never; set $a "after$a"; location /new {` + show + `} location /internal { internal;` + show + `} rewrite ^/i$ /internal; }`,
		requests: []string{
			"GET /last/x?q h", "GET /on/x?q h", "GET /goeson/x h", "GET /break/x?q h", "GET /args/x?q h", "GET /args/x h", "GET /drop/x?q h", "GET /dropargs/x?q h", "GET /emptyargs?q h",
			"GET /two/x?q=1 h", "GET /none?q h", "GET /red/x?q h", "GET /red/x h", "GET /perm/x?q h", "GET /abs/x?q h", "GET /abss/x?q h", "GET /scheme/x?q h", "GET /absargs/x?q h", "GET /var?q h",
			"GET /uri/a%20b%2Bc+d?q h", "GET /uri/ab?q h", "GET /urired/a%20b%26c%0Ad h", "GET /urired/a+b h", "GET /named/a/b h", "GET /group h", "GET /group/x h", "GET /group/y h", "GET /group/x/y h", "GET /empty h", "GET /emptyq?q h",
			"GET /loop h", "GET /loop10 h", "GET /count/ h", "GET /count9/ h", "GET /setcap/a%20b h", "GET /quoted/a%20b%26c h", "GET /quoted/a+b h", "GET /quoted/ab h", "GET /quotedif/a%20b h", "GET /quotedif/ab h", "GET /plain/a%20b h",
			"GET /noslash h", "GET /case/x h", "GET /unesc?q h", "GET /unesc2?q h", "GET /flags/a?q h", "GET /flags/b?q h", "GET /flags/c?q h", "GET /flags/d?q h", "GET /internal h", "GET /internal/in h", "GET /toint h", "GET /tointin h", "GET /errint h",
			"GET /breakret h", "GET /chg h", "GET /args/%22%23%25%26%27%3B%3C%3E%3F%5B%5C%5D%5E%60%7B%7C%7D%7E%7F%80%C3%BC h", "GET /red/%22%23%25%26%27%3B%3C%3E%3F%5B%5C%5D%5E%60%7B%7C%7D%7E%7F%80%C3%BC h", "POST /last/x h", "HEAD /red/x h", "GET //last///x h",
			"GET /old/x?q srv", "GET /red/x?q srv", "GET /l/x srv", "GET /b/x srv", "GET /i srv", "GET /internal srv", "GET /other srv",
		},
	},
	"if": {
		servers: `server { LISTEN set $a ""; set $zero 0; set $two 00; set $word w;
			location /var { if ($arg_v) { return 200 yes; } return 200 no; }
			location /eq { if ($arg_v = abc) { return 200 yes; } return 200 no; }
			location /ne { if ($arg_v != abc) { return 200 yes; } return 200 no; }
			location /eqvar { if ($arg_v = "$arg_w-") { return 200 yes; } return 200 no; }
			location /eqempty { if ($arg_v = "") { return 200 yes; } return 200 no; }
			location /re { if ($arg_v ~ ^a(.)c$) { return 200 "yes $1"; } return 200 "no $1"; }
			location /rei { if ($arg_v ~* ^A(.)c$) { return 200 "yes $1"; } return 200 "no $1"; }
			location /nre { if ($arg_v !~ ^a(.)c$) { return 200 "yes $1"; } return 200 "no $1"; }
			location /nrei { if ($arg_v !~* ^A(?<mid>.)c$) { return 200 "yes $mid"; } return 200 "no $mid $1"; }
			location /consts { if ($zero) { set $a "${a}zero"; } if ($two) { set $a "${a}two"; } if ($word) { set $a "${a}word"; } return 200 "$a"; }
			location /files { if (-f /etc/passwd) { set $a "${a}f"; } if (-d /etc/passwd) { set $a "${a}d"; } if (-e /etc) { set $a "${a}e"; } if (-x /bin/sh) { set $a "${a}x"; } if (-x /etc/passwd) { set $a "${a}X"; }
				if (!-f /etc) { set $a "${a}F"; } if (!-d /etc) { set $a "${a}D"; } if (!-e /nowhere) { set $a "${a}E"; } if (!-x /nowhere) { set $a "${a}N"; } if (-f /etc/passwd/x) { set $a "${a}never"; }
				if (-f $arg_f) { set $a "${a}arg"; } if (-d "/$arg_d") { set $a "${a}argd"; } if ( -e /dev/null ) { set $a "${a}dev"; } return 200 "$a"; }
			location /scope { add_header X-A outer; error_page 404 /eqempty; if ($arg_v = 1) { error_page 404 =202 /ne; } if ($arg_v = 2) { set $a inner; } return 404; }
			location /last { if ($arg_v = 1) { rewrite ^ /eq last; set $a never; } if ($arg_v = 2) { rewrite ^ /eq break; return 200 "broke $uri"; } return 200 "end $uri"; }
			location /break { if ($arg_v) { break; } return 200 never; }
			location /types { default_type a/b; if ($arg_v) { set $a 1; } if ($arg_w) { set $a "${a}2"; } return 200 "$a"; }
			location /lim { limit_except GET POST { deny all; } return 200 "lim $request_method"; }
			location /limif { limit_except GET { deny all; } if ($arg_v) { set $a 1; } }
			location /caps { if ($uri ~ ^/(c)(a)) { set $a "$2$1"; } if ($arg_v ~ x) { set $a "${a}$1"; } if ($arg_v !~ y) { set $a "${a}$2"; } return 200 "$a"; }
			location /ret { if ($arg_v = 301) { return 301 /x; } if ($arg_v = 444) { return 444; } if ($arg_v = 403) { return 403; } return 200 end; }
		}
		server { LISTEN; server_name srv; set $a ""; if ($http_user_agent = "") { set $a none; } if ($arg_v = 1) { rewrite ^ /in/$a; } if ($arg_v = 2) { return 403; } if ($arg_v ~ "^3(.)") { set $a $1; } 
			location / { return 200 "root $a $uri"; } location /in { return 200 "in $a $uri"; } }`,
		requests: []string{
			"GET /var h", "GET /var?v=1 h", "GET /var?v=0 h", "GET /var?v=00 h", "GET /var?v= h", "GET /eq?v=abc h", "GET /eq?v=ab h", "GET /eq h", "GET /ne?v=abc h", "GET /ne h", "GET /eqvar?v=x-&w=x h", "GET /eqvar?v=x&w=x h", "GET /eqempty h", "GET /eqempty?v=1 h",
			"GET /re?v=abc h", "GET /re?v=abd h", "GET /rei?v=ABC h", "GET /nre?v=abc h", "GET /nre?v=x h", "GET /nrei?v=abc h", "GET /nrei?v=x h", "GET /consts h",
			"GET /files h", "GET /files?f=/etc/passwd&d=etc h", "GET /scope h", "GET /scope?v=1 h", "GET /scope?v=2 h", "GET /last?v=1 h", "GET /last?v=2 h", "GET /last?v=3 h", "GET /break?v=1 h", "GET /break h", "GET /types h", "GET /types?v=1 h", "GET /types?v=1&w=1 h",
			"GET /lim h", "HEAD /lim h", "POST /lim h", "DELETE /lim h", "FOO /lim h", "DELETE /limif h", "DELETE /limif?v=1 h", "GET /limif h", "GET /caps?v=x h", "GET /caps?v=y h", "GET /ret?v=301 h", "GET /ret?v=444 h", "GET /ret?v=403 h", "GET /ret h",
			"GET / srv", "GET /?v=1 srv", "GET /?v=2 srv", "GET /?v=34 srv",
		},
	},
}
