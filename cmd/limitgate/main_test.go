package main

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"limitgate": main})
}

// TestScripts runs the stories in testdata over the real command. $A and $B are free loopback addresses; `await FILE` waits
// for a file to be there and not empty, `gone FILE` for it to be gone, `fill FILE` puts variables into a file.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"A", "B"} {
				ln, err := net.Listen("tcp4", "127.0.0.1:0")
				if err != nil {
					return err
				}
				e.Setenv(name, ln.Addr().String())
				if err := ln.Close(); err != nil {
					return err
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "root" && os.Geteuid() == 0, nil },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await": func(ts *testscript.TestScript, _ bool, args []string) {
				eventually(ts, "no text in "+args[0], func() bool { b, err := os.ReadFile(ts.MkAbs(args[0])); return err == nil && len(b) > 0 })
			},
			"gone": func(ts *testscript.TestScript, _ bool, args []string) {
				eventually(ts, args[0]+" is still there", func() bool { _, err := os.Stat(ts.MkAbs(args[0])); return os.IsNotExist(err) })
			},
			"logged": func(ts *testscript.TestScript, _ bool, args []string) {
				eventually(ts, args[1]+" is not in "+args[0], func() bool {
					b, err := os.ReadFile(ts.MkAbs(args[0]))
					return err == nil && strings.Contains(string(b), args[1])
				})
			},
			"fill": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, name := range args {
					text := os.Expand(ts.ReadFile(name), func(v string) string {
						if v == "A" || v == "B" || v == "WORK" {
							return ts.Getenv(v)
						}
						return "$" + v
					})
					ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
				}
			},
		},
	})
}

func eventually(ts *testscript.TestScript, what string, cond func() bool) {
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s", what)
		}
	}
}
