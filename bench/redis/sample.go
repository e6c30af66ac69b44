package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const sampleKey = "000000000000"

// sample gives a command for redis-benchmark that does what limitgate's does. It can send no byte 0, of which limitgate's argument
// has some: so the script has the arguments in it, in a line before it, and gets one of the same length that it does not use.
func (s *server) sample() ([]string, error) {
	if _, err := s.ask("SCRIPT", "FLUSH"); err != nil {
		return nil, err
	}
	sent, err := s.overheard("EVAL", func(addr string) error {
		l, err := limitgateAt(addr)
		if err != nil {
			return err
		}
		_, err = l.Take(context.Background(), sampleKey)
		return err
	})
	if err != nil {
		return nil, err
	}
	// EVAL script 1 key args...
	script, key, args := sent[0][1], sent[0][3], sent[0][4:]
	var literals, dummies []string
	for _, a := range args {
		var b strings.Builder
		for _, c := range []byte(a) {
			fmt.Fprintf(&b, `\%03d`, c)
		}
		literals = append(literals, "'"+b.String()+"'")
		dummies = append(dummies, strings.Repeat("x", len(a)))
	}
	sha, err := s.ask("SCRIPT", "LOAD", "local ARGV = {"+strings.Join(literals, ",")+"}\n"+script)
	if err != nil || len(sha) != 40 {
		return nil, fmt.Errorf("loading the script: %s %w", sha, err)
	}
	return append([]string{"EVALSHA", sha, "1", strings.Replace(key, sampleKey, "__rand_int__", 1)}, dummies...), nil
}

// benchmark runs redis-benchmark on as many connections as limitgate has, with so many commands at a time.
func (b *bench) benchmark(command []string, pipeline int) (cell, error) {
	if _, err := b.server.ask("CONFIG", "RESETSTAT"); err != nil {
		return cell{}, err
	}
	const n = 100_000
	args := append([]string{
		"-p", b.server.port(), "-c", strconv.Itoa(connections), "-P", strconv.Itoa(pipeline), "-n", strconv.Itoa(n), "-r", strconv.Itoa(b.keys), "--csv",
	}, command...)
	out, err := exec.Command("redis-benchmark", args...).Output()
	if err != nil {
		return cell{}, fmt.Errorf("redis-benchmark: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(lines[len(lines)-1], `","`)
	if len(fields) < 2 {
		return cell{}, errors.New("redis-benchmark says " + lines[len(lines)-1])
	}
	rate, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return cell{}, fmt.Errorf("redis-benchmark says %s: %w", lines[len(lines)-1], err)
	}
	return b.server.cell(n, time.Duration(n/rate*float64(time.Second))), nil
}

// connections is how many limitgate has to one server.
const connections = 1
