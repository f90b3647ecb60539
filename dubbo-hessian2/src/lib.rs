//! Hessian 2 as Dubbo speaks it.
