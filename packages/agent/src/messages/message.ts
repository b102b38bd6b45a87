import type { Clock, Label, Message, MessageInit, MessagePurpose, Part } from '@provost/core'
import { deepFreeze, fillLabel, toJson, trustedLabel } from '@provost/core'

/** Returns a complete message for one of a user or a hook; with a purpose, for one of the runtime. */
export function messageOf(
  init: MessageInit,
  clock: Clock,
  id: string,
  label: Label = trustedLabel,
  agent?: string,
  purpose?: MessagePurpose,
): Message {
  return deepFreeze({
    id,
    role: init.role ?? 'user',
    content: partsOf(init.content),
    label: fillLabel(init.label, label),
    ...(agent !== undefined && { agent }),
    createdAt: clock.now(),
    ...(purpose && { purpose }),
    ...(init.data !== undefined && { data: toJson(init.data) }),
  })
}

/** Returns content as parts. */
export function partsOf(content: string | readonly Part[]): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
