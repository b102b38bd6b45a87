export type { ChatMessage, ChatMetadata, ChatTools } from './chat-message.ts'
export type { ChatTransportOptions } from './chat-transport.ts'
export { chatTransport } from './chat-transport.ts'
