import { setFlagsFromString } from 'node:v8'

/**
 * V8 throws away the code of what has not run for a few collections. Contenders that take turns would pay for compiling
 * again what a server, which does the same all day, keeps; and most of all those that make little garbage themselves.
 */
export function keepCompiledCode(): void {
  setFlagsFromString('--no-flush-bytecode')
}
