module example.com/talk

go 1.26

require github.com/braidrun/braid v0.0.0

replace github.com/braidrun/braid => ../..
