/** What would allow a call, by the rule that decided. For operators: models receive none of it. */
const remedies: Readonly<Record<string, string>> = {
  'secret-argument': 'Leave the secret out. A tool that needs a secret declares it.',
  confidentiality: 'Name the destination in the readers of the label, or map it to them with "readers".',
  'composed-address': 'The user writes the address, or a trusted tool returns it.',
  'fetched-address': 'The user writes the address, or points at the text that has it and speaks of pages.',
  'argument-origin':
    'The user writes the value, a tool or field declared as trusted returns it ("returns", "trustedFields"), or a human approves it for the session.',
  'disguised-content': 'The text is plain, and the user or a trusted tool gives each link.',
  'answer-link': 'The user or a trusted tool gives the link, or it has nothing that was read.',
  intent: 'The user asks for it in the present turn, or "declassifySinks" names the tool.',
  contract: 'The user asks for it in the next turn, or a human approves the call.',
  'untrusted-to-sink': 'The arguments copy no untrusted text, or "declassifySinks" names the tool.',
  'lethal-trifecta': 'The run reads either secret data or untrusted text, or "declassifySinks" names the tool.',
}

/** Returns what would allow a call that a default rule decided about. */
export function remedyOf(rule: string): string | undefined {
  return Object.hasOwn(remedies, rule) ? remedies[rule] : undefined
}

/** Returns what the model reads of a call that would need an approval, where no approver is available. */
export function withoutApprover(rule: string): string {
  return rule === 'contract' || rule === 'intent'
    ? 'The user did not ask for this call. Ask the user for it, or continue without it.'
    : 'This call needs human approval, which is not available. Continue without it.'
}
