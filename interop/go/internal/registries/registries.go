// Package registries reads the flags that tell a peer where providers and consumers meet.
package registries

import (
	"flag"
	"fmt"
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/registry"
)

// Flags name a registry and say how it is used.
type Flags struct {
	kind, address, level, metadata, application *string
	metadataPort                                *int
}

// Declare declares the flags. A peer is named application unless a flag says otherwise.
func Declare(application string) *Flags {
	return &Flags{
		kind:         flag.String("registry", "", "nacos, zookeeper or etcd; without it there is no registry"),
		address:      flag.String("registry-address", "", "host:port of the registry"),
		level:        flag.String("registry-type", "", "interface, service or all"),
		metadata:     flag.String("metadata-type", "local", "local or remote"),
		metadataPort: flag.Int("metadata-port", 0, "port of the metadata service, on every address"),
		application:  flag.String("application", application, "name of the application"),
	}
}

// Given tells whether there is a registry.
func (f *Flags) Given() bool { return *f.kind != "" }

// Options are those of an instance with this name and registry.
func (f *Flags) Options() ([]dubbo.InstanceOption, error) {
	options := []dubbo.InstanceOption{dubbo.WithName(*f.application)}
	if !f.Given() {
		return options, nil
	}
	protocols := map[string]string{"nacos": "nacos", "zookeeper": "zookeeper", "etcd": "etcdv3"}
	protocol, ok := protocols[*f.kind]
	if !ok {
		return nil, fmt.Errorf("--registry=%s is none of nacos, zookeeper, etcd", *f.kind)
	}
	levels := map[string]registry.Option{
		"interface": registry.WithRegisterInterface(),
		"service":   registry.WithRegisterService(),
		"all":       registry.WithRegisterServiceAndInterface(),
	}
	level, ok := levels[*f.level]
	if !ok {
		return nil, fmt.Errorf("--registry-type=%s is none of interface, service, all", *f.level)
	}
	switch *f.metadata {
	case "local":
	case "remote":
		options = append(options, dubbo.WithRemoteMetadata())
	default:
		return nil, fmt.Errorf("--metadata-type=%s is none of local, remote", *f.metadata)
	}
	if *f.metadataPort != 0 {
		options = append(options, dubbo.WithMetadataServicePort(*f.metadataPort))
	}
	return append(options, dubbo.WithRegistry(
		registry.WithAddress(protocol+"://"+*f.address),
		registry.WithTimeout(10*time.Second),
		level,
	)), nil
}
