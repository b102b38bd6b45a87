import type { Extension, HookName, Hooks } from '@provost/core'

/** One extension's hook of a name. */
export interface Hooked<K extends HookName> {
  readonly extension: Extension
  readonly hook: NonNullable<Hooks[K]>
}

/** All hooks of an agent by name, in the order of its extensions. A name nobody hangs on is an empty list. */
export type HookTable = { readonly [K in HookName]: readonly Hooked<K>[] }

/** Sorts the hooks of extensions by name, once for each agent. */
export function hookTable(extensions: readonly Extension[]): HookTable {
  const all = <K extends HookName>(name: K): readonly Hooked<K>[] =>
    extensions.flatMap((extension) => {
      const hook = extension.hooks[name]
      return hook ? [{ extension, hook }] : []
    })
  return {
    'session.start': all('session.start'),
    input: all('input'),
    context: all('context'),
    'model.request': all('model.request'),
    'model.call': all('model.call'),
    'model.error': all('model.error'),
    'model.response': all('model.response'),
    'tool.call': all('tool.call'),
    'tool.result': all('tool.result'),
    handoff: all('handoff'),
    merge: all('merge'),
    'run.end': all('run.end'),
    'session.stop': all('session.stop'),
    event: all('event'),
    around: all('around'),
  }
}
