// Package k8s holds the manifests of limitgate for Kubernetes. It is a module of its own: the types of Kubernetes, which judge the
// manifests in its tests, are no dependency of the product.
package k8s
