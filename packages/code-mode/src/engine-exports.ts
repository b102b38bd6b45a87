/**
 * What `quickjs.ts` comes to use of the engine, by way of its library. The engine exports all of its C library besides,
 * for extensions that there are none of.
 */
export const engineExports: ReadonlySet<string> = new Set([
  '_initialize',
  '__stack_pointer',
  'memory',
  'qjs_call',
  'qjs_dup_value',
  'qjs_eval',
  'qjs_execute_pending_job',
  'qjs_free_cstring',
  'qjs_free_value',
  'qjs_get_bool',
  'qjs_get_context_ptr',
  'qjs_get_exception',
  'qjs_get_false',
  'qjs_get_null',
  'qjs_get_prop_string',
  'qjs_get_runtime_ptr',
  'qjs_get_string_len',
  'qjs_get_true',
  'qjs_get_undefined',
  'qjs_init',
  'qjs_is_exception',
  'qjs_is_job_pending',
  'qjs_is_undefined',
  'qjs_new_error',
  'qjs_new_number',
  'qjs_new_string',
  'qjs_set_gc_threshold',
  'qjs_set_interrupt_handler',
  'qjs_set_max_stack_size',
  'qjs_set_memory_limit',
  'qjs_set_runtime_and_context',
  'qjs_throw',
  'wasm_free',
  'wasm_malloc',
])

/** Where the engine has its memory from. Its library lets nothing else in than what the system gives. */
export const memoryImport = ['wasi_snapshot_preview1', 'memory'] as const
