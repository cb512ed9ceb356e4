; Stands in for programs that are not there under Wine: notes how it was called in C:\calls.txt, then does the least
; that its name promises. C:\offline and C:\busy, if they exist, are how the test says what happens.

Unicode true
Target amd64-unicode
Name "stand-in"
OutFile "${OUT}"
RequestExecutionLevel user
SilentInstall silent
SetCompressor zlib

!include LogicLib.nsh

Section
  ClearErrors
  FileOpen $0 "C:\calls.txt" a
  FileSeek $0 0 END
  FileWriteUTF16LE $0 "$EXEFILE $CMDLINE$\n"
  FileClose $0
  ${If} $EXEFILE == "uv.exe"
    ${If} ${FileExists} "C:\offline"
      SetErrorLevel 2
      Quit
    ${EndIf}
    ReadEnvStr $1 UV_PYTHON_INSTALL_DIR
    CreateDirectory "$1\cpython-3.12.9-windows-x86_64-none"
    CopyFiles /SILENT "$EXEPATH" "$1\cpython-3.12.9-windows-x86_64-none\pythonw.exe"
  ${EndIf}
  ${If} $EXEFILE == "pythonw.exe"
    ${While} ${FileExists} "C:\busy"
      Sleep 100
    ${EndWhile}
  ${EndIf}
  ${If} $EXEFILE == "wsl.exe"
  ${AndIf} ${FileExists} "C:\offline"
    SetErrorLevel 1
    Quit
  ${EndIf}
SectionEnd
