package syntax

import (
	"os"
	"path/filepath"
	"testing"
)

// A block of Lua is passed by Lua's rules where that is asked for, and read as nginx reads it otherwise.
func TestLuaBlocks(t *testing.T) {
	for _, c := range []struct{ name, lua, want string }{
		{"braces in a string", `ngx.say("}") if x then local t = {} end`, ""},
		{"quotes", `local a, b = '"}', "'}\"}"`, ""},
		{"long brackets", "local a = [[ } ]] .. [==[ }]]} ]=] ]==] .. t[1]", ""},
		{"comments", "-- } it's\n--[[ }\n} ]] x = 1 --[=[ }]] ]=]\n--[ }\n", ""},
		{"nested", "local t = { a = { {} }, b = function() return {} end }", ""},
		{"an open string", "local a = \"}\nlocal b = {}", ""},
		{"an index in an index", "t[u[1]] = 2 a = b - c", ""},
		{"never closed", "local t = {", `unexpected end of file, expecting "}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c")
			text := "a { set_by_lua_block $x { " + c.lua + " } b; }\nc;"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			tree := Read(Options{Path: path, Lua: true})
			if c.want != "" {
				if len(tree.Errors) == 0 {
					t.Error("no error")
				}
				return
			}
			if got, want := outline(tree.Body), "<a>{<set_by_lua_block|$x>{}<b>}<c>"; got != want || len(tree.Errors) > 0 {
				t.Errorf("got %s, %v, want %s", got, tree.Errors, want)
			}
			lines := 2
			for _, b := range c.lua {
				if b == '\n' {
					lines++
				}
			}
			if got := tree.Body[1].Pos.Line; got != lines {
				t.Errorf("got line %d, want %d", got, lines)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "c")
	if err := os.WriteFile(path, []byte("content_by_lua_block { ngx.say(1) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if tree := Read(Options{Path: path}); len(tree.Errors) == 0 {
		t.Error("without the option: Lua was read as nginx does not read it")
	}
}
