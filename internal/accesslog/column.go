package accesslog

import (
	"strings"

	"github.com/limitgate/limitgate/internal/logformat"
)

// target is where the value of a column goes.
type target uint8

const (
	toField    target = iota // Record.Fields, by the column's name
	toNothing                // text that is there and read by nobody
	toAddr                   // an address
	toAddrPort               // an address with a port
	toBinary                 // an address as nginx's $binary_remote_addr
	toPort
	toRequest
	toMethod
	toURI
	toPath  // of the URI, without arguments
	toArgs  // of the URI
	toQuery // the arguments with their question mark, or nothing
	toProtocol
	toHost
	toHostName // $host: where there is no Host header
	toServer   // the server's name: where there is no host at all; a field too
	toUser
	toReferer
	toAgent
	toStatus
	toBody
	toSent
	toLength
	toDuration
	toUpstream
	toTotal // one of several times that add up to the duration: AWS
	toLocalTime
	toISOTime
	toEpoch
	toAnyTime // of a JSON log: a text or a number in any unit
	toStrftime
	toFraction // of a second, beside toStrftime
	toCreated  // when the request came, beside the stamp of its end: AWS
)

// column is what one value of a line means.
type column struct {
	to   target
	name string // of the variable, nginx's where it has one
	unit int64  // of times, in nanoseconds
	end  bool   // a time: of the end of the request
	list bool   // a time of several upstreams
	zero bool   // "-" is none at all, not unknown: Apache's %b
	also string // a field that has the value too
	rank uint8  // in JSON: the higher one counts, of two alike the first
	time strftime
}

// shape is what the column's values look like in a line of text.
func (c *column) shape() logformat.Shape {
	switch c.to {
	case toStatus, toBody, toSent, toLength, toPort, toEpoch, toFraction, toTotal:
		return logformat.Number
	case toDuration, toUpstream:
		if c.list {
			return logformat.Times
		}
		return logformat.Number
	case toLocalTime:
		return logformat.Clock
	case toISOTime, toCreated, toAddr, toAddrPort, toMethod, toProtocol:
		return logformat.Word
	}
	if c.name == "remote_logname" || c.name == "server_port" {
		return logformat.Word
	}
	return logformat.Text
}

// isTime reports whether the column can be the stamp of a record.
func (c *column) isTime() bool {
	return c.to == toLocalTime || c.to == toISOTime || c.to == toEpoch || c.to == toAnyTime || c.to == toStrftime
}

// nginxColumn is what a variable of nginx's means.
func nginxColumn(name string) column {
	c := column{name: name}
	switch name {
	case "remote_addr":
		c.to = toAddr
	case "binary_remote_addr":
		c.to = toBinary
	case "remote_port":
		c.to = toPort
	case "remote_user":
		c.to = toUser
	case "time_local":
		c.to, c.end = toLocalTime, true
	case "time_iso8601":
		c.to, c.end = toISOTime, true
	case "msec":
		c.to, c.end, c.unit = toEpoch, true, second
	case "request":
		c.to = toRequest
	case "request_method":
		c.to = toMethod
	case "request_uri":
		c.to = toURI
	case "uri", "document_uri":
		c.to = toPath
	case "args", "query_string":
		c.to = toArgs
	case "server_protocol":
		c.to = toProtocol
	case "host":
		c.to = toHostName
	case "server_name":
		c.to = toServer
	case "status":
		c.to = toStatus
	case "body_bytes_sent":
		c.to = toBody
	case "bytes_sent":
		c.to = toSent
	case "request_length":
		c.to = toLength
	case "request_time":
		c.to, c.unit = toDuration, second
	case "upstream_response_time":
		c.to, c.unit, c.list = toUpstream, second, true
	default:
		if header, ok := strings.CutPrefix(name, "http_"); ok {
			return headerColumn(header)
		}
	}
	return c
}

// headerColumn is what a header of the request means.
func headerColumn(header string) column {
	header = strings.ReplaceAll(strings.ToLower(header), "-", "_")
	c := column{name: "http_" + header}
	switch header {
	case "host":
		c.to = toHost
	case "referer":
		c.to = toReferer
	case "user_agent":
		c.to = toAgent
	}
	return c
}

// tells are the variables of nginx's that a column's values stand for.
func (c *column) tells() []string {
	switch c.to {
	case toNothing, toFraction, toQuery:
		return nil
	case toCreated:
		return []string{"request_time"}
	case toTotal:
		if c.name == "upstream_response_time" {
			return []string{c.name}
		}
		return []string{"request_time"}
	case toRequest:
		return []string{"request", "request_method", "request_uri", "server_protocol"}
	case toAddrPort:
		return []string{c.name, "remote_port"}
	case toBinary:
		return []string{c.name, "remote_addr"}
	}
	return []string{c.name}
}
