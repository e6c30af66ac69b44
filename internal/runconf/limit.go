package runconf

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate"
)

// Limit is what a person says of one limit without a file, to try it on a log.
type Limit struct {
	Rate    string // such as 10r/s; "": no rate
	Burst   int
	NoDelay bool
	Delay   int
	Conn    int    // requests at once; 0: no such limit
	Count   int    // requests in a window; 0: no such limit
	Window  string // such as 1m
	Key     string // what is counted, with variables
	Match   string // the beginning of paths, or ~ and a regular expression
}

// LimitDefaults are the flags of a person who says nothing but how much.
func LimitDefaults() Limit {
	return Limit{Window: "1m", Key: "$binary_remote_addr", Match: "/"}
}

// Validate says what is wrong, naming the flag.
func (l *Limit) Validate() error {
	switch {
	case l.Rate == "" && l.Conn == 0 && l.Count == 0:
		return errors.New("what is to be replayed? Name a configuration with -c, or a limit with --rate, --conn or --count")
	case l.Rate == "" && (l.Burst != 0 || l.NoDelay || l.Delay != 0):
		return errors.New("--burst, --nodelay and --delay belong to a --rate")
	case l.Burst < 0 || l.Delay < 0 || l.Conn < 0 || l.Count < 0:
		return errors.New("--burst, --delay, --conn and --count must not be negative")
	case l.NoDelay && l.Delay != 0:
		return errors.New("--nodelay and --delay exclude each other")
	case (l.NoDelay || l.Delay != 0) && l.Burst == 0:
		return errors.New("--nodelay and --delay say what happens to a --burst")
	case l.Key == "" || strings.ContainsAny(l.Key, "\"'\\;\r\n"):
		return fmt.Errorf("--key %q: write variables, such as '$binary_remote_addr' or '$http_x_api_key'", l.Key)
	case strings.ContainsAny(l.Window, " ;{}\"'\\\r\n$"):
		return fmt.Errorf("--window %q: write a time such as 10s, 1m or 1h", l.Window)
	}
	if l.Rate != "" {
		if _, err := limitgate.ParseRate(l.Rate); err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
	}
	return l.validateMatch()
}

func (l *Limit) validateMatch() error {
	if pattern, is := strings.CutPrefix(l.Match, "~"); is {
		pattern = strings.TrimSpace(strings.TrimPrefix(pattern, "*"))
		if _, err := regexp.Compile(pattern); err != nil || pattern == "" || strings.ContainsAny(pattern, "\r\n") {
			return fmt.Errorf("--match %q: this is no regular expression: write ~ and one, such as '~ ^/api/v[0-9]+/'", l.Match)
		}
		return nil
	}
	if !strings.HasPrefix(l.Match, "/") || strings.ContainsAny(l.Match, " \t\r\n;{}\"'\\$") {
		return fmt.Errorf("--match %q: write the beginning of a path, such as /login, or ~ and a regular expression", l.Match)
	}
	return nil
}

// Text writes the configuration. The limit must be valid.
func (l *Limit) Text() string {
	var zones, limits strings.Builder
	key := `"` + l.Key + `"`
	if l.Rate != "" {
		fmt.Fprintf(&zones, "    limit_req_zone %s zone=rate:10m rate=%s;\n    limit_req_status 429;\n", key, l.Rate)
		limits.WriteString("limit_req zone=rate")
		if l.Burst > 0 {
			limits.WriteString(" burst=" + strconv.Itoa(l.Burst))
		}
		switch {
		case l.NoDelay:
			limits.WriteString(" nodelay")
		case l.Delay > 0:
			limits.WriteString(" delay=" + strconv.Itoa(l.Delay))
		}
		limits.WriteString("; ")
	}
	if l.Conn > 0 {
		fmt.Fprintf(&zones, "    limit_conn_zone %s zone=conn:10m;\n    limit_conn_status 429;\n", key)
		fmt.Fprintf(&limits, "limit_conn conn %d; ", l.Conn)
	}
	if l.Count > 0 {
		fmt.Fprintf(&zones, "    limit_count_zone %s zone=count:10m limit=%d window=%s;\n    limit_count_status 429;\n", key, l.Count, l.Window)
		limits.WriteString("limit_count zone=count; ")
	}
	match := l.Match
	if pattern, is := strings.CutPrefix(match, "~"); is {
		operator := "~"
		if p, folds := strings.CutPrefix(pattern, "*"); folds {
			operator, pattern = "~*", p
		}
		match = operator + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.TrimSpace(pattern)) + `"`
	}
	other := ""
	if match != "/" {
		other = "        location / { }\n"
	}
	return "events { }\nhttp {\n" + zones.String() + "    server {\n        listen 80;\n        location " + match + " { " + limits.String() + "}\n" + other + "    }\n}\n"
}
