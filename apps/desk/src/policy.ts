import type { Extension } from 'provost'
import type { DataFlowRule } from 'provost/governance'
import { dataFlowPolicy, presets } from 'provost/governance'

/** The desk's purpose: every mail implies these tools. Forwarding is not among them. */
const duties = ['refund', 'draft_reply', 'close_ticket']

/** A reply goes to the sender of the mail that it answers. Confidential content is left to the later rules. */
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

/** Creates the policy for the desk's data. With `shadow` it only reports. */
export function deskPolicy(mode: 'enforce' | 'shadow'): Extension<unknown> {
  return dataFlowPolicy({ mode, rules: [replyToSender, ...presets.intent], intent: () => duties })
}
