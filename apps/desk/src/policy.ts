import type { DataFlowRule, Extension } from 'provost'
import { dataFlowPolicy, presets } from 'provost'

/** What the desk is there for: these tools are implied by every mail, whatever it says. Forwarding is not. */
const duties = ['refund', 'draft_reply', 'close_ticket']

/** A reply goes to whoever wrote the mail that it answers; what is confidential is for the rules behind this one. */
const replyToSender: DataFlowRule = ({ call, values }) => {
  if (call.tool.name !== 'draft_reply' || call.label.confidentiality === 'secret') return undefined
  const mail = values.find(({ path }) => path === '/mail')?.value
  const to = values.find(({ path }) => path === '/to')?.origin
  if (!to || !('leaves' in to)) return undefined
  const written = to.leaves.some(({ source, pointer }) => {
    const input = source.call?.toolName === 'read_mail' ? source.call.input : undefined
    const read = typeof input === 'object' && input !== null && 'mail' in input ? input.mail : undefined
    return read === mail && (pointer === '/from' || pointer === '/replyTo')
  })
  return written ? { allow: true } : undefined
}

/** Watches where the desk's data goes. With `shadow` it only says what it would have done. */
export function deskPolicy(mode: 'enforce' | 'shadow'): Extension<unknown> {
  return dataFlowPolicy({ mode, rules: [replyToSender, ...presets.intent], intent: () => duties })
}
