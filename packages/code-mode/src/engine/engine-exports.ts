const functions = [
  '_initialize',
  'qjs_call',
  'qjs_eval',
  'qjs_execute_pending_job',
  'qjs_free_cstring',
  'qjs_free_value',
  'qjs_get_bool',
  'qjs_get_context_ptr',
  'qjs_get_exception',
  'qjs_get_false',
  'qjs_get_prop_string',
  'qjs_get_runtime_ptr',
  'qjs_get_string_len',
  'qjs_get_true',
  'qjs_get_undefined',
  'qjs_init',
  'qjs_is_exception',
  'qjs_is_undefined',
  'qjs_new_number',
  'qjs_new_string',
  'qjs_set_gc_threshold',
  'qjs_set_interrupt_handler',
  'qjs_set_max_stack_size',
  'qjs_set_memory_limit',
  'qjs_set_runtime_and_context',
  'wasm_free',
  'wasm_malloc',
] as const

/** The exports that are used. The engine also exports its whole C library, for extensions that do not exist here. */
export const engineExports: ReadonlySet<string> = new Set([...functions, '__stack_pointer', 'memory'])

/** What an instance of the engine exports. Arguments and results are addresses in its memory, and numbers. */
export type EngineExports = WebAssembly.Exports &
  Readonly<Record<(typeof functions)[number], (...values: number[]) => number>> & {
    readonly __stack_pointer: WebAssembly.Global
  }

export function isEngine(exports: WebAssembly.Exports): exports is EngineExports {
  return functions.every((name) => typeof exports[name] === 'function') && '__stack_pointer' in exports
}

/** The import from which the engine takes its memory. */
export const memoryImport = ['wasi_snapshot_preview1', 'memory'] as const
