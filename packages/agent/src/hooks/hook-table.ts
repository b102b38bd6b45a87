import type { Extension, HookName } from '@provost/core'
import { retries } from '@provost/provider'

import type { HookTable, Hooked } from '../types/hooks.ts'

/** Returns the hooks of extensions by name, in extension order, and those that every agent has behind them. */
export function hookTable(extensions: readonly Extension[]): HookTable {
  const all = <K extends HookName>(name: K): readonly Hooked<K>[] =>
    [...extensions, retries].flatMap((extension) => {
      const hook = extension.hooks[name]
      return hook ? [{ extension, hook }] : []
    })
  return {
    'session.start': all('session.start'),
    'run.start': all('run.start'),
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
