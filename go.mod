module github.com/limitgate/limitgate

go 1.26
