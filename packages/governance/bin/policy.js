/**
 * node node_modules/@provost/governance/bin/policy.js test LOG… --policy FILE
 *
 * Tests a policy on recorded sessions, or reports what a policy asked; --help lists the options. Policy files in Cedar
 * need @provost/policy-cedar, installed where the command runs. PROVOST_AUDIT_KEY is the key of audit links in the logs.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

import { policyCommand } from '@provost/governance/policy-command'

/** The application installs the package, so it is looked up from the working directory. */
async function cedar(policy, tools) {
  let path
  try {
    path = createRequire(join(process.cwd(), 'policy.js')).resolve('@provost/policy-cedar')
  } catch (cause) {
    throw new Error('Policies in Cedar need a package: npm install @provost/policy-cedar', { cause })
  }
  const { cedarRule } = await import(pathToFileURL(path).href)
  return cedarRule({ policy, tools })
}

const auditKey = process.env['PROVOST_AUDIT_KEY']
process.exitCode = await policyCommand(process.argv.slice(2), {
  formats: { '.cedar': cedar },
  ...(auditKey && { auditKey }),
})
