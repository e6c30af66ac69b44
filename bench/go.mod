module github.com/limitgate/limitgate/bench

go 1.26
