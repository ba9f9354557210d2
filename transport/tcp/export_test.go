package tcp

import "io"

// HelloOfVersion is the hello of another release.
func HelloOfVersion(version uint16, cluster string) Hello {
	return Hello{ClusterID: cluster, version: version}
}

// EncodeHello is a hello as it goes over the wire.
func EncodeHello(h Hello) []byte { return h.encode() }

// ReadWelcome reads the answer to a hello.
func ReadWelcome(r io.Reader) error {
	w, err := readWelcome(r)
	if err == nil && w.code != 0 {
		return w.code
	}
	return err
}
