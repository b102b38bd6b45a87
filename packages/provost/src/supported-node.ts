import { unsupportedNode } from '@provost/core/supported-node'

// Each built entry imports this file first. The rest of the packages has not been loaded yet, its class of errors included.
const error = unsupportedNode()
if (error) {
  const thrown = Object.assign(new Error(`${error.message} ${error.hint}`), { name: 'ProvostError', ...error })
  // The frames would be those of the import.
  thrown.stack = `${thrown.name} [${error.code}]: ${error.message} ${error.hint}`
  throw thrown
}
