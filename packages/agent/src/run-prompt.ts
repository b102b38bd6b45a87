import type { Message } from '@provost/core'

import { messageOf } from './message-init.ts'
import type { RunScope } from './run-scope.ts'
import { skillCatalogue } from './skill.ts'

/** Brings the prompt up to date with the view: what was sent before is neither converted nor touched again. */
export function syncPrompt(scope: RunScope): void {
  const { state, prompt, prompted } = scope
  if (prompted.version !== state.viewVersion) {
    prompt.reset([...systemMessages(scope), ...state.view])
  } else {
    for (let i = prompted.count; i < state.view.length; i++) {
      const message = state.view[i]
      if (message) prompt.append(message)
    }
  }
  scope.prompted = { count: state.view.length, version: state.viewVersion }
}

/** The system prompt comes from source, each time: no summary and no edit of the history touches it. */
function systemMessages(scope: RunScope): readonly Message[] {
  const { plan, state } = scope
  const texts = [scope.instructions, plan.skills.length > 0 ? skillCatalogue(plan.skills) : ''].filter(
    (text) => text !== '',
  )
  const own = texts.length > 0 ? [messageOf({ role: 'system', content: texts.join('\n\n') }, 'instructions')] : []
  return [...own, ...(state.preludes.get(state.agent) ?? [])]
}
