// Package packaging holds what limitgate is installed with: units of systemd, a Dockerfile, a first configuration and, each a module of
// its own, manifests of Kubernetes and a Debian package. It has no code but its tests.
package packaging
